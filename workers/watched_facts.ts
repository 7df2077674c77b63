/** The few facts of Rollouts and policies that decide about news; nothing else of them is kept. */
import { z } from "zod";
import type { IllCondition } from "../activities/backends/contract.ts";
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

/** The last rollout of a pool came to its end; a run that was terminated leaves another phase behind. */
export function hasEnded(last: Pick<RolloutFacts, "phase"> | undefined): boolean {
  return ["Converged", "RolledBack", "Aborted"].includes(last?.phase ?? "");
}

/** The policy selects a MachineDeployment with these labels, or may do so. */
export function mayMean({ selector }: PolicyFacts, labels: Record<string, string> | undefined): boolean {
  return selector === undefined || selects(selector, labels);
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
