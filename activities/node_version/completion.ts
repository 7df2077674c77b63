/** Computes the progress of a NodeVersion, which is complete only when every node matches it. */
import type { NodeClass } from "./classify.ts";

/** The names of the nodes of each class, and the numbers of joining and leaving machines. */
export interface NodeCounts {
  nodes: Readonly<Record<NodeClass, readonly string[]>>;
  joins: number;
  leaves: number;
}

export interface Completion {
  /** How many of the `limit` additional machines may be ordered now. */
  budget: number;
  isSettled: boolean;
  /** The condition Outdated of `status.conditions`. */
  outdated: { status: "True" | "False" | "Unknown"; reason: string; message: string };
}

/** Maximum number of nodes that a message names. */
const named = 5;

const unfinished: readonly NodeClass[] = ["outdated", "donors", "heirs", "awaitingAnnotation", "obsolete"];

/**
 * Returns the progress. An outdated node counts as unfinished even if its replacement vanished, and so does a node
 * without the annotations that name its versions. The version of an invalid node cannot be determined: the message
 * names the node, and the NodeVersion is not complete.
 */
export function completionOf({ nodes, joins, leaves }: NodeCounts, limit = 1): Completion {
  const extra = nodes.heirs.length + nodes.awaitingAnnotation.length + joins + leaves;
  const budget = Math.max(0, limit - extra);
  const left = unfinished.filter((each) => nodes[each].length > 0);
  const isUnderWay = left.length > 0 || joins + leaves > 0;
  if (isUnderWay) {
    const counts = left.map((each) => `${nodes[each].length} ${wordsOf[each]}`);
    const moves = [...counts, ...(joins > 0 ? [`${joins} joining`] : []), ...(leaves > 0 ? [`${leaves} leaving`] : [])];
    const message = `Nodes not up to date: ${moves.join(", ")}`;
    const outdated = { status: "True", reason: "NodeVersionsOutOfDate", message } as const;
    return { budget, isSettled: false, outdated };
  }
  if (nodes.invalid.length > 0) {
    const message = `Cannot determine the version of ${nodesText(nodes.invalid)}`;
    return { budget, isSettled: false, outdated: { status: "Unknown", reason: "NodesInvalid", message } };
  }
  const all = nodes.upToDate.length + nodes.mints.length;
  const message = all === 1 ? "The node is up to date" : `All ${all} nodes are up to date`;
  return { budget, isSettled: true, outdated: { status: "False", reason: "NodeVersionsUpToDate", message } };
}

const wordsOf: Record<NodeClass, string> = {
  ...{ outdated: "outdated", donors: "outdated with a replacement", heirs: "replacing another node" },
  ...{ awaitingAnnotation: "awaiting annotation", obsolete: "obsolete" },
  ...{ upToDate: "up to date", mints: "new", invalid: "invalid" },
};

function nodesText(names: readonly string[]): string {
  const shown = names.slice(0, named).map((name) => `"${name}"`).join(", ");
  return `node${names.length === 1 ? "" : "s"} ${shown}${
    names.length > named ? ` and ${names.length - named} more` : ""
  }`;
}
