/** The outcome of a release for each pool. */
import { type HandoverPool, keyOf } from "../../activities/handover/pools.ts";
import { type KnownProfile, unrenderable } from "../../activities/handover/profiles.ts";
import type { Giving } from "../../activities/handover/release_pool.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { withKind } from "../rollout/scaling_groups.ts";
import { bootsOf, type PoolLine } from "./pool_line.ts";

/** A pool to give back to Operating System Manager, and the reasons not to give it back yet. */
export interface PlannedPool extends Giving {
  /** Why Operating System Manager cannot render the pool's config. */
  unrenderable?: string;
  /**
   * Why the pool is not ready for the release: without Ostler, machine-controller would replace machines, or machines
   * could fail to join.
   */
  unfinished?: string;
}

/** A NodePool or ScalingGroup; not given back, because Operating System Manager manages only MachineDeployments. */
export interface KeptPool {
  /** The pool with its kind. */
  pool: PoolRef;
  phase: string;
  workflowId?: string;
}

/** Phases of a Rollout without a step in progress. */
const atRest = ["", "Converged", "RolledBack", "Aborted", "Deleting"];

/** Returns the pools that have no MachineDeployment, and whose Rollout is that of a NodePool or a ScalingGroup. */
export function keptPools(pools: readonly HandoverPool[]): KeptPool[] {
  return pools.flatMap(({ namespace, name, deployment, phase = "", workflowId }) => {
    const pool = withKind({ namespace, name });
    return deployment || pool.kind === undefined ? [] : [{ pool, phase, ...(workflowId ? { workflowId } : {}) }];
  });
}

/** Returns whether a step of the pool is in progress, which nothing continues without Ostler. */
export function isUnfinished({ phase }: KeptPool): boolean {
  return phase === "Deleting" || !atRest.includes(phase);
}

/** Returns the pools that have objects of Ostler, without NodePools and ScalingGroups. */
export function plannedPools(
  pools: readonly HandoverPool[],
  profiles: Map<string, KnownProfile>,
  profileNamespace: string,
): PlannedPool[] {
  const others = new Set(keptPools(pools).map(({ pool }) => keyOf(pool)));
  return pools.filter((pool) => isOurs(pool) && !others.has(keyOf(pool))).map((pool) => {
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
    return `machine "${machine}" is held, and without its hold machine-controller replaces machines by its own rules`;
  }
  if (!atRest.includes(phase)) return `its rollout is ${phase}`;
  if (boot && deployment && boot.revision !== deployment.revision) {
    return `revision ${deployment.revision} is not published yet; the published one is ${boot.revision}`;
  }
  return booting[0] === undefined ? undefined : `machine "${booting[0]}" is booting with credentials of Ostler`;
}

/** Returns whether the MachineDeployment of a pool is deleted or being deleted. */
export function isLeaving({ pool: { deployment } }: Pick<PlannedPool, "pool">): boolean {
  return !deployment || deployment.isLeaving;
}

/** Returns the outcome for a pool as a row. */
export function releaseLine({ pool, unrenderable, unfinished }: PlannedPool): PoolLine {
  return {
    ...{ pool: keyOf(pool), profile: pool.deployment?.profile?.name ?? "", boots: bootsOf(pool) },
    outcome: isLeaving({ pool }) ? "clean up" : unrenderable !== undefined ? "keep as published" : "give back",
    note: [unfinished, unrenderable].filter((note) => note !== undefined).join("; "),
  };
}
