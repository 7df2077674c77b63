/** Which of its nodes a NodeVersion counts as what: the classes of the Constellation node operator, first match wins. */
import type { PendingNode } from "../kube/update_kinds.ts";
import type { MarkedNode } from "./marks.ts";

/** Nodes by name in the fields of `NodeVersion.status`; mints with the record that they came by. */
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

/** What nodes are to run. */
export interface NodeTarget {
  image: string;
  components: string;
}

/** The class of one node; pure. A node of no machine (no provider id) is invalid, whatever it bears. */
export function classOf(
  node: MarkedNode,
  target: NodeTarget,
  pending: readonly Pick<PendingNode, "spec" | "status">[],
): NodeClass {
  if (node.providerId === "") return "invalid";
  if (node.isObsolete) return "obsolete";
  if (node.image === "" || node.components === "") return "awaitingAnnotation";
  if (!runs(node, target)) return node.heir === "" ? "outdated" : "donors";
  if (node.donor !== "") return "heirs";
  return pending.some((record) => isJoinOf(record, node.name)) ? "mints" : "upToDate";
}

/** Clouds tell images in other cases than people do. */
function runs({ image, components }: NodeTarget, target: NodeTarget): boolean {
  return same(image, target.image) && same(components, target.components);
}

/** A record of a machine that came to join, under this name, and whose instance is there. */
export function isJoinOf({ spec, status }: Pick<PendingNode, "spec" | "status">, node: string): boolean {
  return spec.nodeName === node && spec.goal === "Join" && status?.cspState === "Ready";
}

/** Whether two ids of a cloud mean the same. */
export function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
