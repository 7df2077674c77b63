/** Determines the health of joined nodes from the status of their conditions; nothing else of a node is kept. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Resource } from "../kube/resources.ts";
import type { IllCondition } from "./contract.ts";

/** The facts kept of a node. */
export interface NodeFacts {
  /** Status of each condition, by its type. */
  conditions: Record<string, string>;
}

/**
 * The watched nodes. Only the status of each condition is kept, so a heartbeat of the kubelet does not count as a
 * change.
 */
export const watchedNodes: Resource<NodeFacts> = {
  ...{ group: "", version: "v1", plural: "nodes" },
  schema: z.object({
    status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() }).nullish(),
  }).transform(({ status }) => ({
    conditions: Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status])),
  })),
};

/** The watch of the nodes of all pools of a backend. */
export interface NodeWatch {
  /**
   * Returns a hash of a pool's unhealthy nodes and of the conditions (Ready, or one of `conditions`) because of which
   * they are unhealthy; "" if all are healthy.
   */
  illness(pool: string, conditions: readonly IllCondition[]): string;
  start(): Promise<void>;
}

/**
 * Returns the conditions because of which a node is unhealthy, such as "Ready=Unknown"; "Missing" if the node does not
 * exist, "" if it is healthy.
 */
export function illnessOf(node: NodeFacts | undefined, conditions: readonly IllCondition[]): string {
  if (!node) return "Missing";
  const ready = node.conditions["Ready"] ?? "Unknown";
  const found = conditions.filter(({ type, status }) => node.conditions[type] === status);
  const texts = found.map(({ type, status }) => `${type}=${status}`);
  return [...new Set(ready === "True" ? texts : [`Ready=${ready}`, ...texts])].sort().join(",");
}

/** Returns a hash of the unhealthy nodes and of the text of `illnessOf` for each; "" if all are healthy. */
export function illnessAmong(
  nodes: readonly (readonly [name: string, facts: NodeFacts | undefined])[],
  conditions: readonly IllCondition[],
): string {
  const ill = nodes.map(([name, facts]) => [name, illnessOf(facts, conditions)] as const);
  const texts = ill.filter(([, illness]) => illness !== "").map(([name, illness]) => `${name} ${illness}`);
  return texts.length === 0 ? "" : createHash("sha256").update(texts.sort().join("\n")).digest("hex").slice(0, 16);
}
