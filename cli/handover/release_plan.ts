/** What a release comes to for each pool. */
import { type HandoverPool, keyOf } from "../../activities/handover/pools.ts";
import { type KnownProfile, unrenderable } from "../../activities/handover/profiles.ts";
import type { Giving } from "../../activities/handover/release_pool.ts";
import { bootsOf, type PoolLine } from "./pool_line.ts";

/** A pool that is to be given back, and what stands against it. */
export interface PlannedPool extends Giving {
  /** Why Operating System Manager cannot render it. */
  unrenderable?: string;
  /** Why machine-controller would replace machines of it by itself, or have some that cannot join. */
  unfinished?: string;
}

/** Phases of a Rollout in which nothing is under way. */
const atRest = ["", "Converged", "RolledBack", "Aborted", "Deleting"];

/** Those of all pools that bear something of ours. */
export function plannedPools(
  pools: readonly HandoverPool[],
  profiles: Map<string, KnownProfile>,
  profileNamespace: string,
): PlannedPool[] {
  return pools.filter(isOurs).map((pool) => {
    const { deployment } = pool;
    const stays = deployment && !isLeaving({ pool });
    const cannot = stays ? unrenderable(profiles, deployment, profileNamespace) : undefined;
    const goesOn = stays ? unfinished(pool) : undefined;
    const { namespace = "", name = "" } = deployment?.profile ?? {};
    const version = profiles.get(`${namespace}/${name}`)?.version;
    return {
      pool,
      ...(cannot === undefined ? {} : { unrenderable: cannot, keptVersion: version ?? "" }),
      ...(goesOn === undefined ? {} : { unfinished: goesOn }),
    };
  });
}

function isOurs({ phase, boot, deployment, artefacts }: HandoverPool): boolean {
  if (phase !== undefined) return true;
  return boot ? boot.maker === "Claimed" || boot.maker === "Ostler" : !deployment && artefacts.length > 0;
}

function unfinished({ phase = "", held, booting, boot, deployment }: HandoverPool): string | undefined {
  const [machine] = held;
  if (machine !== undefined) {
    return `machine "${machine}" is held, and without that machine-controller replaces machines by its own rules`;
  }
  if (!atRest.includes(phase)) return `its rollout is ${phase}`;
  if (boot && deployment && boot.revision !== deployment.revision) {
    return `revision ${deployment.revision} is not published yet, only ${boot.revision}`;
  }
  return booting[0] === undefined ? undefined : `machine "${booting[0]}" is booting with credentials of Ostler`;
}

/** Whether its MachineDeployment is gone, or about to be. */
export function isLeaving({ pool: { deployment } }: Pick<PlannedPool, "pool">): boolean {
  return !deployment || deployment.isLeaving;
}

/** As a row. */
export function releaseLine({ pool, unrenderable, unfinished }: PlannedPool): PoolLine {
  return {
    ...{ pool: keyOf(pool), profile: pool.deployment?.profile?.name ?? "", boots: bootsOf(pool) },
    outcome: isLeaving({ pool }) ? "clean up" : unrenderable !== undefined ? "keep as published" : "give back",
    note: [unfinished, unrenderable].filter((note) => note !== undefined).join("; "),
  };
}
