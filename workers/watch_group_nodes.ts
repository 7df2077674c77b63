/** Watches nodes for illness of scaling groups, which may have to be repaired; each says itself of which group it is. */
import { z } from "zod";
import { groupKeyOf } from "../activities/clouds/driver.ts";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { marks } from "../activities/node_version/marks.ts";
import { JoinedNodes } from "./joined_nodes.ts";
import { illnessAmong, type NodeFacts, watchedNodes } from "./watched_facts.ts";
import type { NodeWatch } from "./watch_nodes.ts";

interface GroupNodeFacts extends NodeFacts {
  /** "" for a node of no group. */
  group: string;
}

const Bearing = z.object({ metadata: z.object({ annotations: z.record(z.string(), z.string()).nullish() }) });

const groupNodes: Resource<GroupNodeFacts> = {
  ...watchedNodes,
  schema: z.unknown().transform((node) => ({
    ...watchedNodes.schema.parse(node),
    group: groupKeyOf(Bearing.parse(node).metadata.annotations?.[marks.group] ?? ""),
  })),
};

type Deps = Pick<InformerDeps<never>, "kube" | "log" | "signal"> & { onChange: (group: string) => void };

/** Tells of the keys of groups (`groupKeyOf`) of which a node came, went, or has another condition; not of heartbeats. */
export function watchGroupNodes({ onChange, ...deps }: Deps): NodeWatch {
  const joined = new JoinedNodes();
  const look = (node: string): void => {
    const group = nodes.get(node)?.group ?? "";
    const moved = joined.place(node, group === "" ? undefined : { pool: group, node });
    new Set([...moved, ...(group === "" ? [] : [group])]).forEach(onChange);
  };
  const nodes = new Informer(groupNodes, { ...deps, onChange: look });
  return {
    illness: (group, conditions) =>
      illnessAmong(joined.nodesOf(group).map((node) => [node, nodes.get(node)]), conditions),
    start: () => nodes.start(),
  };
}
