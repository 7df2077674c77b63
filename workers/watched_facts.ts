/** The facts about Rollouts and policies that decide whether the run of a pool is signalled. */
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

/** The facts about a pool's last rollout, from its Rollout. */
export interface RolloutFacts {
  observed?: string;
  phase?: string;
  run?: ReportedRun;
  /** Whether the pool was rolled back, and the abandoned change is still recorded. */
  wentBack: boolean;
  /** Numbers for metrics; not relevant for signals. */
  numbers: RolloutNumbers;
  /** Notifications; not relevant for signals. */
  notices: Notice[];
}

interface PolicyFacts {
  namespace: string;
  /** Changes when the policy changes. */
  version: string;
  /** Missing if invalid: the policy may then select any pool, and the run of that pool reports the error. */
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

/**
 * Returns whether the last rollout of a pool has ended. If its run was terminated, the Rollout still has another phase,
 * so the rollout counts as not ended.
 */
export function hasEnded(last: Pick<RolloutFacts, "phase"> | undefined): boolean {
  return ["Converged", "RolledBack", "Aborted"].includes(last?.phase ?? "");
}

/** Returns whether a policy selects these labels; true if its selector is invalid. */
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
