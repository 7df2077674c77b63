/** What the machines of the main story are and stand on: simulated ones on nothing, real ones on this host. */
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
  /** Undefined where the cloud simulates the machines. */
  readonly machines?: MachineGround;
  /** What their MachineDeployment says beside replicas and release. */
  readonly shape: Pick<PoolShape, "profile" | "operatingSystem" | "annotations">;
  readonly releases: readonly [first: Release, next: Release];
  /** Undefined where no container runs. */
  readonly guestImage?: string;
  /** Undefined where no machine really boots. */
  readonly host?: ContainerHost;
  /** Scaling groups of a cloud; undefined where a story has none. */
  readonly groups?: GroupGround;
  /** Nodes that keep images and boot them; undefined where a story has none. */
  readonly images?: ImageGround;
  /** Ostler's settings that suit it, beside those of machines, groups and images. */
  readonly settings?: Readonly<Record<string, string>>;
  /** What it takes to install Ostler on these machines; undefined where nobody is to. */
  readonly premises?: Premises;
  stop(): Promise<void>;
}

export interface Premises {
  readonly host: ContainerHost;
  readonly tools: { helm: string; kubectl: string };
  /** Undefined where the dev server has to do. */
  readonly temporal?: LentTemporal;
}

export interface GroundOptions {
  readonly options: Pick<DemoOptions, "installDocker">;
  readonly programs: NodePrograms;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
  /** Images that machines find beside those of our own programs. */
  readonly layouts?: readonly LayoutImage[];
}

/** Machines that only look like machines from the API server. */
export const simulatedGround: Ground = {
  shape: {},
  releases: [firstRelease, nextRelease],
  stop: () => Promise.resolve(),
};

/** Machines that boot as containers; throws where no engine runs them, and says how to get one. */
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

/** Keeps what machines are made of from one run to the next. */
export function machinesFolder(): string {
  const tools = cacheFolder(process.env);
  if (tools === undefined) throw new Error("Cannot keep machine images: neither HOME nor XDG_CACHE_HOME is set");
  return join(tools, "..", "machines");
}
