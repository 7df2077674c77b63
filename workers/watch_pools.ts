/** Watches MachineDeployments and all that decides about their machines; holds no more of each than decides about news. */
import type { Logger } from "@temporalio/common";
import { isDeepStrictEqual } from "node:util";
import type { Kube } from "../activities/kube/client.ts";
import { Informer } from "../activities/kube/informer.ts";
import {
  MachineDeployment,
  machineDeployments,
  type ObjectName,
  profiles,
  type Resource,
} from "../activities/kube/resources.ts";
import { type Observable, observableOf, observedOf } from "../activities/config/observed.ts";
import { type LinedProfile, lineState, profileLine } from "../activities/config/profile_line.ts";
import type { Notice } from "../workflows/contracts/mod.ts";
import type { PoolNotice } from "./notices/tell_notices.ts";
import type { PoolWatch, WatchedPool } from "./pool_notifier.ts";
import type { RolloutNumbers } from "./rollout_numbers.ts";
import { watchNodes } from "./watch_nodes.ts";
import {
  hasEnded,
  mayMean,
  type PolicyFacts,
  type RolloutFacts,
  watchedPolicies,
  watchedRollouts,
} from "./watched_facts.ts";
import { finalizer } from "../activities/config/identity.ts";
import { profileRef } from "../activities/config/read_profile.ts";

interface WatchDeps {
  kube: Kube;
  profileNamespace: string;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** What is watched; the numbers of all Rollouts, undefined while changes may have been missed; and what people are told. */
export interface WatchedPools extends PoolWatch {
  start(): Promise<void>;
  numbers(): RolloutNumbers[] | undefined;
  notices(): PoolNotice[];
}

/** Pools are the MachineDeployments that have a profile, and those that wait for us to clean up. */
export function watchPools(deps: WatchDeps): WatchedPools {
  const listeners: ((key: string) => void)[] = [];
  const tell = (key: string): void => listeners.forEach((listener) => listener(key));
  const deployments = new Informer(watchedDeployments(deps.profileNamespace), { ...deps, onChange: tell });
  const results = new Informer(watchedRollouts, {
    ...deps,
    onChange: (key, before) => decidesAlike(before, results.get(key)) || tell(key),
  });
  const templates = new Informer(profiles, {
    ...deps,
    onChange: (key) => deployments.keys().filter((pool) => usesProfile(pool, key)).forEach(tell),
  });
  const nodes = watchNodes({ ...deps, onChange: tell });
  const policies = new Informer(watchedPolicies, {
    ...deps,
    onChange: (key) => deployments.keys().filter((pool) => namespaceOf(pool) === namespaceOf(key)).forEach(tell),
  });

  const policiesOf = (namespace: string): PolicyFacts[] =>
    [...policies.values()].filter((policy) => policy.namespace === namespace);
  const lineOf = (key: string): LinedProfile[] => {
    const ref = deployments.get(key)?.profile;
    return ref ? profileLine(ref, ({ namespace, name }) => templates.get(`${namespace}/${name}`)) : [];
  };
  const usesProfile = (pool: string, profile: string): boolean =>
    lineOf(pool).some(({ ref }) => `${ref.namespace}/${ref.name}` === profile);
  const find = (key: string): WatchedPool | undefined => {
    const deployment = deployments.get(key);
    const line = lineOf(key);
    if (!deployment || (line.length === 0 && !deployment.isHeld)) return undefined;
    const { namespace, name, labels, isNumbered, metadata: { generation = 0 } } = deployment;
    const last = results.get(key);
    const own = policiesOf(namespace).filter((policy) => mayMean(policy, labels));
    const isOpen = !hasEnded(last);
    return {
      pool: { namespace, name },
      generation,
      isNumbered,
      observed: observedOf(deployment, lineState(line)),
      reported: last?.observed,
      isOpen,
      ...(isOpen && last?.run ? { run: last.run } : {}),
      isLeft: last?.phase === "Aborted" && !last.wentBack,
      policies: own.map(({ version }) => version).sort().join(),
      illness: nodes.illness(key, own.flatMap(({ conditions }) => conditions)),
    };
  };
  return {
    find,
    keys: () => deployments.keys(),
    onChange: (listener) => void listeners.push(listener),
    numbers: () => results.isFresh ? [...results.values()].map(({ numbers }) => numbers) : undefined,
    notices: () => results.keys().flatMap((key) => noticesAt(key, results.get(key)?.notices ?? [])),
    start: async () => {
      const pools = [templates, results, policies, deployments];
      await Promise.all([nodes.start(), ...pools.map((informer) => informer.start())]);
    },
  };
}

function noticesAt(key: string, notices: Notice[]): PoolNotice[] {
  const namespace = namespaceOf(key);
  const pool = { namespace, name: key.slice(namespace.length + 1) };
  return notices.map((notice) => ({ pool, notice }));
}

// Most that is written on a Rollout is progress, which is only counted and told.
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

// The few facts of MachineDeployments that decide about news; nothing else of them is kept.

interface DeploymentFacts extends Observable {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  /** The profile that it asks for; missing from one that is none of ours. */
  profile?: ObjectName;
  /** It does not go before we have cleaned up. */
  isHeld: boolean;
  /** Who makes the machines has taken this generation up, or it needs no more. */
  isNumbered: boolean;
}

/** MachineDeployments as the controller watches them; a profile is in `profileNamespace` where nothing else is said. */
export function watchedDeployments(profileNamespace: string): Resource<DeploymentFacts> {
  const schema = MachineDeployment.transform((deployment): DeploymentFacts => {
    const { namespace, name, generation = 0, labels = {}, finalizers = [], deletionTimestamp } = deployment.metadata;
    const profile = profileRef(deployment, profileNamespace);
    return {
      ...observableOf(deployment),
      ...{ namespace, name, labels },
      ...(profile ? { profile } : {}),
      isHeld: finalizers.includes(finalizer),
      isNumbered: deletionTimestamp !== undefined || (deployment.status?.observedGeneration ?? 0) >= generation,
    };
  });
  return { ...machineDeployments, schema };
}
