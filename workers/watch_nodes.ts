/** Watches nodes, and the machines that say whose they are, for illness that may have to be repaired. */
import { nodeOwners } from "../activities/backends/registry.ts";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import { JoinedNodes } from "./joined_nodes.ts";
import type { IllCondition } from "./watched_facts.ts";
import { illnessAmong, watchedNodes } from "./watched_facts.ts";

export interface NodeWatch {
  /** Identity of what is wrong with the joined nodes of a pool, by Ready and by `conditions`; "" when nothing is. */
  illness(pool: string, conditions: readonly IllCondition[]): string;
  start(): Promise<void>;
}

type Deps = Pick<InformerDeps<never>, "kube" | "log" | "signal"> & { onChange: (pool: string) => void };

/** Tells of pools of which a joined machine changed, or a condition of its node did; not of heartbeats. */
export function watchNodes({ onChange, ...deps }: Deps): NodeWatch {
  const joined = new JoinedNodes();
  const sets = new Informer(nodeOwners.sets, {
    ...deps,
    onChange: (set) => machines.keys().filter((key) => machines.get(key)?.set === set).forEach(look),
  });
  const look = (key: string): void => {
    const { set = "", node } = machines.get(key) ?? {};
    const pool = sets.get(set)?.pool;
    joined.place(key, pool && node ? { pool, node } : undefined).forEach(onChange);
  };
  const machines = new Informer(nodeOwners.machines, { ...deps, onChange: look });
  const nodes = new Informer(watchedNodes, {
    ...deps,
    onChange: (node) => [joined.poolOf(node)].forEach((pool) => pool && onChange(pool)),
  });
  return {
    illness: (pool, conditions) =>
      illnessAmong(joined.nodesOf(pool).map((node) => [node, nodes.get(node)]), conditions),
    // In this order: a machine without its set, or a node without its machine, would have to be looked at again.
    start: async () => {
      await sets.start();
      await machines.start();
      await nodes.start();
    },
  };
}
