/** Gate NodeCondition: the condition has the wanted status on every node that is asked about. */
import type { V1Node } from "@kubernetes/client-node";
import type { Check } from "../../workflows/contracts/mod.ts";
import { some } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { nodesOf } from "./subject.ts";
import type { Subject } from "./subject.ts";

type NodeCondition = Extract<Check, { kind: "NodeCondition" }>;

/** Status "Unknown" and a condition that nobody reports are not measured: a partition is no verdict. */
export async function lookAtNodeCondition(subject: Subject, check: NodeCondition): Promise<Finding> {
  const { found, absent } = await nodesOf(subject);
  const seen = found.map((node) => ({ name: node.metadata?.name ?? "", status: statusOn(node, check.type) }));
  const wanted = `wanted ${check.type}=${check.status}`;
  const wrong = seen.filter(({ status }) => status !== check.status && status !== "Unknown");
  const unknown = [...seen.filter(({ status }) => status === "Unknown").map(({ name }) => name), ...absent];
  if (wrong.length > 0) {
    const names = some(wrong.map(({ name }) => `"${name}"`));
    const message = `${wrong.length} of ${seen.length} nodes have ${check.type}=${wrong[0]?.status} (${names})`;
    return { state: "False", message: `${message}, ${wanted}` };
  }
  if (unknown.length > 0) {
    return { state: "Unknown", message: `${check.type} is not known of ${some(unknown.map(quoted))}, ${wanted}` };
  }
  return { state: "True", message: `${check.type}=${check.status} on ${seen.length} of ${seen.length} nodes` };
}

function statusOn(node: V1Node, type: string): string {
  return node.status?.conditions?.find((condition) => condition.type === type)?.status ?? "Unknown";
}

function quoted(name: string): string {
  return `node "${name}"`;
}
