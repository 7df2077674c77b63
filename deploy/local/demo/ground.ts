/** What the machines of the main story are and stand on: simulated ones on nothing, real ones on this host. */
import { join } from "node:path";
import process from "node:process";
import { openContainerHost } from "../machines/container_host.ts";
import type { MachineGround } from "../site/site.ts";
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
  stop(): Promise<void>;
}

export interface GroundOptions {
  readonly options: Pick<DemoOptions, "installDocker">;
  readonly programs: NodePrograms;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Machines that only look like machines from the API server. */
export const simulatedGround: Ground = {
  shape: {},
  releases: [firstRelease, nextRelease],
  stop: () => Promise.resolve(),
};

/** Machines that boot as containers; throws where no engine runs them, and says how to get one. */
export async function containerGround({ options, programs, onProgress, signal }: GroundOptions): Promise<Ground> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) throw new Error("Cannot keep machine images: neither HOME nor XDG_CACHE_HOME is set");
  const folder = join(tools, "..", "machines");
  const host = await openContainerHost({
    ...{ cacheFolder: folder, programs, installEngine: options.installDocker, onProgress, signal },
  });
  const image = (nth: number): string => `docker://ostler.example/debian:12-${nth}`;
  return {
    machines: host,
    shape: { profile: "osp-debian", operatingSystem: "debian", annotations: host.poolAnnotations },
    releases: [{ ...firstRelease, image: image(1) }, { ...nextRelease, image: image(2) }],
    guestImage: host.mirror.images.podServer,
    stop: () => host.stop(),
  };
}
