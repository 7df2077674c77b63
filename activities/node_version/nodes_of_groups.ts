/** The nodes of a NodeVersion's groups; those that do not bear what they are have it written on them once. */
import { readInstances } from "../backends/scaling_group/sight.ts";
import { type GroupNode, readGroupNodes } from "../backends/scaling_group/group_nodes.ts";
import { cloudOf } from "../clouds/cloud_of.ts";
import { groupKeyOf, type Instance } from "../clouds/driver.ts";
import { abreast } from "../kube/abreast.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { marks } from "./marks.ts";

/** Nodes that are written at a time. */
const width = 10;

interface Owned {
  group: string;
  instance: Instance;
}

export interface GroupFleet {
  nodes: GroupNode[];
  /** Of all groups, also those that have no node. */
  instances: Instance[];
}

/** Reads them all, and writes what nobody has; a node is of the group that has its instance, or whose id it bears. */
export async function readFleet(kube: Kube, groupIds: readonly string[]): Promise<GroupFleet> {
  if (groupIds.length === 0) return { nodes: [], instances: [] };
  const driver = await cloudOf(kube);
  const lists = await Promise.all(groupIds.map(async (group) => {
    return (await readInstances(kube, driver, group)).map((instance): Owned => ({ group, instance }));
  }));
  const owned = new Map(lists.flat().map((each) => [each.instance.providerId.toLowerCase(), each]));
  const named = new Set(lists.flat().map(({ instance }) => instance.node));
  const keys = new Set(groupIds.map(groupKeyOf));
  const own = (await readGroupNodes(kube)).filter(({ providerId, group, name }) =>
    providerId === "" ? named.has(name) || keys.has(groupKeyOf(group)) : owned.has(providerId.toLowerCase()) ||
      keys.has(groupKeyOf(group))
  );
  const nodes = await abreast(width, own, (node) => described(kube, node, owned.get(node.providerId.toLowerCase())));
  return { nodes, instances: lists.flat().map(({ instance }) => instance) };
}

/** N1 to N6: written where it is missing, and never again; what a node says already is believed. */
async function described(kube: Kube, node: GroupNode, owned: Owned | undefined): Promise<GroupNode> {
  if (!owned || node.providerId === "" || (node.group !== "" && node.image !== "")) return node;
  const group = node.group || owned.group;
  const image = node.image || owned.instance.image;
  const annotations = { [marks.group]: group, [marks.image]: image };
  const { name, uid } = node;
  const isThere = await ifFound(kube.core.patchNode({ name, body: { metadata: { uid, annotations } } }, asMergePatch));
  return isThere ? { ...node, group, image } : node;
}
