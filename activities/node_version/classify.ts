/** Classifies the nodes of a NodeVersion as the Constellation node operator does; the first matching class wins. */
import { imageKeyOf } from "../clouds/marketplace.ts";
import type { PendingNode } from "../kube/update_kinds.ts";
import type { MarkedNode } from "./marks.ts";

/**
 * Fields of `NodeVersion.status`, each of which lists nodes. `donors` are outdated nodes with a replacement, `heirs`
 * are their replacements, and `mints` are new nodes that replace none and whose join a PendingNode still records.
 */
export type NodeClass =
  | "upToDate"
  | "outdated"
  | "donors"
  | "heirs"
  | "mints"
  | "awaitingAnnotation"
  | "obsolete"
  | "invalid";

/** Nodes of each class. */
export type Classes = Record<NodeClass, MarkedNode[]>;

/** The versions that nodes must run. */
export interface NodeTarget {
  image: string;
  components: string;
}

/**
 * Returns the class of one node; pure. A node without a provider id has no machine and is invalid, whatever its
 * annotations.
 */
export function classOf(
  node: MarkedNode,
  target: NodeTarget,
  pending: readonly Pick<PendingNode, "spec" | "status">[],
): NodeClass {
  if (node.providerId === "") return "invalid";
  if (node.isObsolete) return "obsolete";
  if (node.image === "" || (node.components === "" && target.components !== "")) return "awaitingAnnotation";
  if (!runs(node, target)) return node.heir === "" ? "outdated" : "donors";
  if (node.donor !== "") return "heirs";
  return pending.some((record) => isJoinOf(record, node.name)) ? "mints" : "upToDate";
}

/**
 * Returns whether a node runs the image and the components of the target, regardless of upper and lower case, because
 * clouds and users may write the id of an image differently.
 */
function runs(node: NodeTarget, target: NodeTarget): boolean {
  return same(node.image, target.image) && hasComponents(node, target);
}

/** Returns whether a node has the desired components; a NodeVersion that names none accepts any. */
export function hasComponents({ components }: Pick<NodeTarget, "components">, target: NodeTarget): boolean {
  return target.components === "" || same(components, target.components);
}

/** Returns whether a PendingNode records the join of this node, and its instance is Ready. */
export function isJoinOf({ spec, status }: Pick<PendingNode, "spec" | "status">, node: string): boolean {
  return spec.nodeName === node && spec.goal === "Join" && status?.cspState === "Ready";
}

/** Returns whether two ids or images of a cloud are equal, regardless of upper and lower case. */
export function same(one: string, other: string): boolean {
  return imageKeyOf(one) === imageKeyOf(other);
}
