/** A ground is the environment of a demo's machines: nothing if they are simulated, or containers on this host. */
import { join } from "node:path";
import process from "node:process";
import { type ContainerHost, openContainerHost } from "../machines/container_host.ts";
import type { ImageGround } from "../cloud/image_nodes/image_ground.ts";
import type { GroupGround } from "../cloud/groups/group_ground.ts";
import type { LayoutImage } from "../mirror/layout_image.ts";
import type { MachineGround } from "../site/site.ts";
import type { LentTemporal } from "../stack/lent_temporal.ts";
import { cacheFolder } from "../tools/environment.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import type { DemoOptions } from "./options.ts";
import { firstRelease, nextRelease, type PoolShape, type Release } from "./pool_objects.ts";

export interface Ground {
  /** Environment in which machines boot; undefined if the cloud simulates the machines. */
  readonly machines?: MachineGround;
  /** Fields of the pool's MachineDeployment in addition to replicas and release. */
  readonly shape: Pick<PoolShape, "profile" | "operatingSystem" | "annotations">;
  readonly releases: readonly [first: Release, next: Release];
  /**
   * Image of the guests, the pods that run on the machines during a story; undefined if the machines run no containers.
   */
  readonly guestImage?: string;
  /** Host on which machines boot in containers; undefined if all machines are simulated. */
  readonly host?: ContainerHost;
  /** Scaling groups of a cloud; undefined if the story uses none. */
  readonly groups?: GroupGround;
  /** Simulated nodes that store OS images and boot them; undefined if the story uses none. */
  readonly images?: ImageGround;
  /** Settings of Ostler for this environment, in addition to those of machines, groups and images. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Host, tools and Temporal for a story that installs Ostler on these machines; undefined for other stories. */
  readonly premises?: Premises;
  stop(): Promise<void>;
}

export interface Premises {
  readonly host: ContainerHost;
  readonly tools: { helm: string; kubectl: string };
  /** Temporal on PostgreSQL; undefined if Temporal's dev server is used. */
  readonly temporal?: LentTemporal;
}

export interface GroundOptions {
  readonly options: Pick<DemoOptions, "installDocker">;
  readonly programs: NodePrograms;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
  /** Images that machines can pull in addition to those of Ostler's own programs. */
  readonly layouts?: readonly LayoutImage[];
}

/** Simulated machines, which exist only as objects of the API server. */
export const simulatedGround: Ground = {
  shape: {},
  releases: [firstRelease, nextRelease],
  stop: () => Promise.resolve(),
};

/**
 * Returns the environment (ground) of a demo whose machines boot as containers; throws if no Docker engine can run
 * them, with a message that includes the remedy.
 */
export async function containerGround(groundOptions: GroundOptions): Promise<Ground & { host: ContainerHost }> {
  const { options, programs, onProgress, signal, layouts = [] } = groundOptions;
  const host = await openContainerHost({
    ...{ cacheFolder: machinesFolder(), programs, installEngine: options.installDocker, onProgress, signal, layouts },
  });
  const image = (nth: number): string => `docker://ostler.example/debian:12-${nth}`;
  return {
    host,
    machines: host,
    shape: { profile: "osp-debian", operatingSystem: "debian", annotations: host.poolAnnotations },
    releases: [{ ...firstRelease, image: image(1) }, { ...nextRelease, image: image(2) }],
    guestImage: host.mirror.images.podServer,
    stop: () => host.stop(),
  };
}

/** Returns the folder that keeps machine images between runs. */
export function machinesFolder(): string {
  const tools = cacheFolder(process.env);
  if (tools === undefined) throw new Error("Failed to find a folder for machine images: set HOME or XDG_CACHE_HOME");
  return join(tools, "..", "machines");
}
