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

/** Nodes that are written, and groups that are asked, at a time. */
const width = 10;

interface Owned {
  group: string;
  instance: Instance;
}

export interface GroupFleet {
  nodes: GroupNode[];
  /** Of all groups, also those that have no node; none where nobody asked. */
  instances: Instance[];
}

/**
 * Reads them all, and writes what nobody has. A node is of the group whose id it bears, or that has its instance: groups are
 * asked for their instances only where a node does not say, or somebody wants to know (`isAsked`).
 */
export async function readFleet(
  kube: Kube,
  groupIds: readonly string[],
  { isAsked }: { isAsked: boolean },
): Promise<GroupFleet> {
  if (groupIds.length === 0) return { nodes: [], instances: [] };
  const keys = new Set(groupIds.map(groupKeyOf));
  const all = await readGroupNodes(kube);
  const isOwn = ({ group }: GroupNode): boolean => keys.has(groupKeyOf(group));
  const isSilent = all.some(({ group, image }) => group === "" || (keys.has(groupKeyOf(group)) && image === ""));
  const owned = isAsked || isSilent ? await readOwned(kube, groupIds) : [];
  const byId = new Map(owned.map((each) => [each.instance.providerId.toLowerCase(), each]));
  const names = new Set(owned.map(({ instance }) => instance.node));
  const own = all.filter((node) => {
    return isOwn(node) || (node.providerId === "" ? names.has(node.name) : byId.has(node.providerId.toLowerCase()));
  });
  const nodes = await abreast(width, own, (node) => described(kube, node, byId.get(node.providerId.toLowerCase())));
  return { nodes, instances: owned.map(({ instance }) => instance) };
}

async function readOwned(kube: Kube, groupIds: readonly string[]): Promise<Owned[]> {
  const driver = await cloudOf(kube);
  const lists = await abreast(width, [...groupIds], async (group) => {
    return (await readInstances(kube, driver, group)).map((instance): Owned => ({ group, instance }));
  });
  return lists.flat();
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
