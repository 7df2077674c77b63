/** Watches MachineDeployments, profiles and Rollouts; holds no more of each than what decides about news. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { machineDeployments, profiles, rollouts } from "../activities/kube/resources.ts";
import { observedOf } from "../activities/pool/observed.ts";
import { profileRef } from "../activities/pool/profile_ref.ts";
import type { PoolWatch, WatchedPool } from "./pool_notifier.ts";
import { Store } from "./store.ts";

export interface WatchDeps {
  profileNamespace: string;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** Pools are the MachineDeployments that name a profile. */
export function watchPools(config: KubeConfig, deps: WatchDeps): PoolWatch & { start(): Promise<void> } {
  const listeners: ((key: string) => void)[] = [];
  const tell = (key: string): void => listeners.forEach((listener) => listener(key));
  const deployments = new Store(config, machineDeployments, { ...deps, onChange: tell });
  const results = new Store(config, rollouts, { ...deps, onChange: tell });
  const templates = new Store(config, profiles, {
    ...deps,
    onChange: (key) => deployments.keys().filter((pool) => usesProfile(pool, key)).forEach(tell),
  });

  const refOf = (key: string): { name: string; namespace: string } | undefined => {
    const deployment = deployments.get(key);
    return deployment && profileRef(deployment, deps.profileNamespace);
  };
  const usesProfile = (pool: string, profile: string): boolean => {
    const ref = refOf(pool);
    return ref !== undefined && `${ref.namespace}/${ref.name}` === profile;
  };
  const find = (key: string): WatchedPool | undefined => {
    const deployment = deployments.get(key);
    const ref = refOf(key);
    if (!deployment || !ref) return undefined;
    const { namespace, name, generation = 0 } = deployment.metadata;
    const profile = templates.get(`${ref.namespace}/${ref.name}`);
    const status = results.get(key)?.status;
    return {
      pool: { namespace, name },
      generation,
      observed: observedOf(deployment, profile?.metadata.generation),
      reported: status?.observed,
      isOpen: status?.phase !== "Converged" && status?.phase !== "Aborted",
      isAborted: status?.phase === "Aborted",
      renewAt: Date.parse(status?.credentials?.renewAt ?? ""),
    };
  };
  return {
    find,
    keys: () => deployments.keys(),
    onChange: (listener) => void listeners.push(listener),
    start: async () => void await Promise.all([templates.start(), results.start(), deployments.start()]),
  };
}
