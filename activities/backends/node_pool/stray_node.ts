/** Nodes of other pools' machines that are looked after by NodePools. */
import type { Cluster } from "../../cluster.ts";
import { readPoolNodes } from "./pool_nodes.ts";
import { readOwners } from "./selected.ts";

/** The first of these nodes that is not of exactly one NodePool; undefined where all are. */
export async function strayNode(kube: Cluster, names: readonly string[]): Promise<string | undefined> {
  const [all, ownerOf] = await Promise.all([readPoolNodes(kube), readOwners(kube)]);
  const nodes = new Map(all.map((node) => [node.name, node]));
  return names.find((name) => {
    const node = nodes.get(name);
    return !node || !ownerOf(node);
  });
}
