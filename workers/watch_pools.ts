/**
 * Watches the pools of all backends with their Rollouts and policies; keeps only what signals, metrics and
 * notifications need.
 */
import type { Logger } from "@temporalio/common";
import { isDeepStrictEqual } from "node:util";
import type { AllPools, PoolSource, WatchDeps } from "../activities/backends/contract.ts";
import type { Kube } from "../activities/kube/client.ts";
import { Informer } from "../activities/kube/informer.ts";
import { groupOfPool, nodePoolOf, workflowIdOf } from "../workflows/commands/start_options.ts";
import type { Notice, PoolRef } from "../workflows/contracts/mod.ts";
import type { PoolNotice } from "./notices/tell_notices.ts";
import type { PoolWatch, WatchedPool } from "./pool_notifier.ts";
import type { RolloutNumbers } from "./rollout_numbers.ts";
import { hasEnded, mayMean, type RolloutFacts, watchedPolicies, watchedRollouts } from "./watched_facts.ts";

interface PoolDeps {
  kube: Kube;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
  /** Watches the objects of all pools, without their Rollouts and policies. */
  watchAll: (deps: Pick<WatchDeps, "onChange" | "log" | "signal">) => PoolSource & Partial<Pick<AllPools, "missing">>;
}

/** Watched pools, with the notifications and numbers of their Rollouts. */
export interface WatchedPools extends PoolWatch {
  start(): Promise<void>;
  /** Kinds of pools whose objects could not be listed yet. */
  missing(): string[];
  /** Returns the numbers of all Rollouts; undefined while the watch may have missed changes. */
  numbers(): RolloutNumbers[] | undefined;
  notices(): PoolNotice[];
  /** Whether a Rollout reports an open run that was started before the cluster had a name. */
  hasUnnamedRuns(): boolean;
}

/** Watches pools; keys are "namespace/name" of the pool, which its Rollout has too. */
export function watchPools({ watchAll, ...deps }: PoolDeps): WatchedPools {
  const { log, signal } = deps;
  const listeners: ((key: string) => void)[] = [];
  const tell = (key: string): void => listeners.forEach((listener) => listener(key));
  const pools = watchAll({ onChange: tell, log, signal });
  const rollouts = new Informer(watchedRollouts, {
    ...deps,
    onChange: (key, before) => decidesAlike(before, rollouts.get(key)) || tell(key),
  });
  const policies = new Informer(watchedPolicies, {
    ...deps,
    onChange: (key) => pools.keys().filter((pool) => namespaceOf(pool) === namespaceOf(key)).forEach(tell),
  });
  const find = (key: string): WatchedPool | undefined => {
    const found = pools.find(key);
    if (!found) return undefined;
    const { labels, illness, ...facts } = found;
    const last = rollouts.get(key);
    const isOpen = !hasEnded(last);
    const own = [...policies.values()].filter((policy) =>
      policy.namespace === facts.pool.namespace && mayMean(policy, labels)
    );
    return {
      ...facts,
      ...{ reported: last?.observed, isOpen, ...(isOpen && last?.run ? { run: last.run } : {}) },
      isLeft: last?.phase === "Aborted" && !last.wentBack,
      policies: own.map(({ version }) => version).sort().join(),
      illness: illness(own.flatMap(({ conditions }) => conditions)),
    };
  };
  return {
    find,
    keys: () => pools.keys(),
    missing: () => pools.missing?.() ?? [],
    onChange: (listener) => void listeners.push(listener),
    numbers: () => rollouts.isFresh ? [...rollouts.values()].map(({ numbers }) => numbers) : undefined,
    notices: () => rollouts.keys().flatMap((key) => noticesAt(key, rollouts.get(key)?.notices ?? [])),
    hasUnnamedRuns: () => rollouts.keys().some((key) => isUnnamed(key, rollouts.get(key))),
    start: async () => void await Promise.all([pools, rollouts, policies].map((each) => each.start())),
  };
}

function noticesAt(key: string, notices: Notice[]): PoolNotice[] {
  const pool = poolAt(key);
  return notices.map((notice) => ({ pool, notice }));
}

function isUnnamed(key: string, last: RolloutFacts | undefined): boolean {
  return !hasEnded(last) && last?.run?.workflowId === workflowIdOf(poolAt(key));
}

/** Returns the pool of a key; the prefix of its name shows its kind. */
function poolAt(key: string): PoolRef {
  const namespace = namespaceOf(key);
  const pool = { namespace, name: key.slice(namespace.length + 1) };
  if (groupOfPool(pool) !== undefined) return { kind: "ScalingGroup", ...pool };
  return nodePoolOf(pool) === undefined ? pool : { kind: "NodePool", ...pool };
}

// Most updates of a Rollout are progress, which is not signalled: only metrics and notifications use it.
function decidesAlike(one: RolloutFacts | undefined, other: RolloutFacts | undefined): boolean {
  if (!one || !other) return false;
  return isDeepStrictEqual(deciding(one), deciding(other));
}

function deciding({ numbers: _, notices: __, ...facts }: RolloutFacts): object {
  return facts;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
