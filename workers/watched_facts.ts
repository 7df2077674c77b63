/** The few facts of nodes, Rollouts and policies that decide about news; nothing else of them is kept. */
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  type Resource,
  RolloutObject,
  rolloutPolicies,
  RolloutPolicyObject,
  rollouts,
} from "../activities/kube/resources.ts";
import { selects } from "../activities/kube/status.ts";
import { LabelSelector } from "../activities/policy/label_selector.ts";
import type { Notice } from "../workflows/contracts/mod.ts";
import { noticesOf } from "./notices/notices_of.ts";
import type { ReportedRun } from "./pool_notifier.ts";
import { type RolloutNumbers, rolloutNumbers } from "./rollout_numbers.ts";

export interface NodeFacts {
  /** Status by type. */
  conditions: Record<string, string>;
}

/** A condition that makes a machine ill. */
export interface IllCondition {
  type: string;
  status: string;
}

/** What the last rollout of a pool says of itself. */
export interface RolloutFacts {
  observed?: string;
  phase?: string;
  run?: ReportedRun;
  /** It went back to the last good revision, and what was left is still remembered. */
  wentBack: boolean;
  /** What is counted; decides about nothing. */
  numbers: RolloutNumbers;
  /** What people are told; decides about nothing either. */
  notices: Notice[];
}

export interface PolicyFacts {
  namespace: string;
  /** Changes when the policy does. */
  version: string;
  /** Missing when it cannot be read: the policy may then mean any pool, and its run says what is wrong. */
  selector?: LabelSelector;
  conditions: IllCondition[];
}

const Running = z.object({ workflowId: z.string(), runId: z.string() });
const Selecting = z.object({ selector: LabelSelector.optional() });
const Repairing = z.object({
  repair: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});

export const watchedPolicies: Resource<PolicyFacts> = {
  ...rolloutPolicies,
  schema: RolloutPolicyObject.transform(policyFacts),
};
export const watchedRollouts: Resource<RolloutFacts> = { ...rollouts, schema: RolloutObject.transform(rolloutFacts) };
export const watchedNodes: Resource<NodeFacts> = {
  ...{ group: "", version: "v1", plural: "nodes" },
  schema: z.object({
    status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() }).nullish(),
  }).transform(({ status }) => ({
    conditions: Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status])),
  })),
};

/** The last rollout of a pool came to its end; a run that was terminated leaves another phase behind. */
export function hasEnded(last: Pick<RolloutFacts, "phase"> | undefined): boolean {
  return ["Converged", "RolledBack", "Aborted"].includes(last?.phase ?? "");
}

/** The policy selects a MachineDeployment with these labels, or may do so. */
export function mayMean({ selector }: PolicyFacts, labels: Record<string, string> | undefined): boolean {
  return selector === undefined || selects(selector, labels);
}

/** What is wrong with a node, as a short text; "" of one that is well. */
export function illnessOf(node: NodeFacts | undefined, conditions: readonly IllCondition[]): string {
  if (!node) return "Missing";
  const ready = node.conditions["Ready"] ?? "Unknown";
  const found = conditions.filter(({ type, status }) => node.conditions[type] === status);
  const texts = found.map(({ type, status }) => `${type}=${status}`);
  return [...new Set(ready === "True" ? texts : [`Ready=${ready}`, ...texts])].sort().join(",");
}

/** Identity of what is wrong with nodes, by Ready and by `conditions`; "" when nothing is. */
export function illnessAmong(
  nodes: readonly (readonly [name: string, facts: NodeFacts | undefined])[],
  conditions: readonly IllCondition[],
): string {
  const ill = nodes.map(([name, facts]) => [name, illnessOf(facts, conditions)] as const);
  const texts = ill.filter(([, illness]) => illness !== "").map(([name, illness]) => `${name} ${illness}`);
  return texts.length === 0 ? "" : createHash("sha256").update(texts.sort().join("\n")).digest("hex").slice(0, 16);
}

function rolloutFacts(rollout: RolloutObject): RolloutFacts {
  const { status } = rollout;
  const { observed, phase } = status ?? {};
  const run = Running.safeParse(status).data;
  return {
    ...(observed ? { observed } : {}),
    ...(phase ? { phase } : {}),
    ...(run ? { run } : {}),
    wentBack: Boolean(status?.["left"]),
    numbers: rolloutNumbers(rollout),
    notices: noticesOf(rollout),
  };
}

function policyFacts({ metadata, spec }: RolloutPolicyObject): PolicyFacts {
  const selecting = Selecting.safeParse(spec ?? {});
  return {
    namespace: metadata.namespace,
    version: `${metadata.uid}@${metadata.generation ?? 0}`,
    ...(selecting.success ? { selector: selecting.data.selector ?? {} } : {}),
    conditions: Repairing.safeParse(spec).data?.repair.conditions ?? [],
  };
}
