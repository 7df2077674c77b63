/** Chooses the RolloutPolicy of a pool and reads it. */
import type { Cluster } from "../cluster.ts";
import { z } from "zod";
import type { Rules } from "../../workflows/contracts/mod.ts";
import { inWords } from "../../profiles/fault_words.ts";
import { attempting, requirementsOf, selects } from "../kube/status.ts";
import { listObjects, type Metadata, rolloutPolicies, type RolloutPolicyObject } from "../kube/resources.ts";
import { defaultRules } from "./default_rules.ts";
import { LabelSelector } from "./label_selector.ts";
import { RolloutPolicySpec } from "./rollout_policy.ts";
import { rulesOf } from "./rules_of.ts";
import type { RolloutPolicy } from "./rules_of.ts";

/**
 * The only part of a policy that is read before it is chosen for a pool, so that an invalid field elsewhere in the
 * policy affects only the pools for which it is chosen.
 */
const Selecting = z.object({ selector: LabelSelector.optional() }).loose();

/** The fields of a pool that policies select by; the pool may exist only in a file. */
export interface SelectedPool {
  metadata: Pick<Metadata, "namespace" | "name" | "labels">;
}

/** A policy that selects a pool, and the number of requirements in its selector. */
export interface Candidate {
  policy: RolloutPolicyObject;
  requirements: number;
}

/** The rules of a pool, and all policies of its namespace. */
interface FoundRules {
  rules: Rules;
  policies: RolloutPolicyObject[];
}

/**
 * Reads the rules of the pool at `now` (epoch ms): those of the most specific policy in its namespace that selects it,
 * or the defaults. It is a conflict if two policies are the most specific ones, if the chosen policy is invalid, or if
 * the selector of any policy of the namespace is invalid. With a conflict nothing new starts, but secrets are published
 * and renewed as before.
 */
export function findRules(kube: Cluster, pool: SelectedPool, now: number): Promise<FoundRules> {
  const { namespace, name } = pool.metadata;
  return attempting(`read the RolloutPolicies of "${namespace}/${name}"`, async () => {
    const policies = await readPolicies(kube, namespace);
    try {
      return { policies, rules: rulesAmong(policies, pool, now) };
    } catch (error) {
      if (error instanceof PolicyFault) return { policies, rules: heldRules(error.message) };
      throw error;
    }
  });
}

/** Returns the policies of a namespace, read once for concurrent callers. */
export function readPolicies(kube: Cluster, namespace: string): Promise<RolloutPolicyObject[]> {
  const list = (): Promise<RolloutPolicyObject[]> => listObjects(kube, rolloutPolicies, { namespace });
  return kube.cache.read(`policies ${namespace}`, list);
}

/** A policy that cannot be used; the message names policy and field, and also the value unless that may be secret. */
export class PolicyFault extends Error {}

/** Returns the rules of a pool from the policies of its namespace. Throws PolicyFault if a policy cannot be read. */
function rulesAmong(policies: RolloutPolicyObject[], pool: SelectedPool, now: number): Rules {
  const [best, next] = candidatesAmong(policies, pool);
  if (!best) return defaultRules;
  if (next?.requirements !== best.requirements) return rulesOf(readPolicy(best.policy), now);
  return conflicting([best, next], pool);
}

/**
 * Returns the policies that select the pool, the most specific first; throws PolicyFault for an unreadable selector.
 */
export function candidatesAmong(policies: RolloutPolicyObject[], { metadata }: SelectedPool): Candidate[] {
  return policies
    .map((policy) => ({ policy, selector: selectorOf(policy) }))
    .filter(({ selector }) => selects(selector, metadata.labels))
    .map(({ policy, selector }) => ({ policy, requirements: requirementsOf(selector) }))
    .sort((a, b) => b.requirements - a.requirements || a.policy.metadata.name.localeCompare(b.policy.metadata.name));
}

/** Reads a whole policy. Throws PolicyFault, whose message names the field, and its value unless that may be secret. */
export function readPolicy({ metadata, spec }: RolloutPolicyObject): RolloutPolicy {
  const { namespace, name } = metadata;
  const read = RolloutPolicySpec.safeParse(spec ?? {}, { reportInput: true, error: inWords });
  if (!read.success) throw invalid(metadata, read.error);
  return { namespace, name, spec: read.data };
}

function selectorOf({ metadata, spec }: RolloutPolicyObject): LabelSelector {
  const read = Selecting.safeParse(spec ?? {}, { reportInput: true, error: inWords });
  if (!read.success) throw invalid(metadata, read.error);
  return read.data.selector ?? {};
}

function conflicting([one, other]: [Candidate, Candidate], { metadata }: SelectedPool): Rules {
  const { requirements } = one;
  const many = `${requirements} ${requirements === 1 ? "requirement" : "requirements"}`;
  return heldRules(
    `RolloutPolicies "${one.policy.metadata.name}" and "${other.policy.metadata.name}" select ` +
      `"${metadata.namespace}/${metadata.name}" with ${many} each; the policy with more requirements would apply`,
  );
}

// With a conflict nothing new starts; steps in progress end by the default rules, but drains evict no pods with local
// data, and repair is off.
function heldRules(conflict: string): Rules {
  return {
    ...{ ...defaultRules, source: "none", conflict },
    drain: { ...defaultRules.drain, localStorage: "Block" },
    repair: { ...defaultRules.repair, enabled: false },
  };
}

function invalid({ namespace, name }: { namespace: string; name: string }, error: z.ZodError): Error {
  const faults = error.issues.slice(0, 3).map((issue) => faultOf(issue));
  return new PolicyFault(`Failed to read RolloutPolicy "${namespace}/${name}": ${faults.join("; ")}`);
}

// The value of a URL is not quoted, because it may be refused for the credentials in it. Values below etcd are not
// quoted either: instead of a folder, or of the name of a Secret, a user may have written a URL with credentials or a
// token.
function faultOf({ path, message, input }: z.core.$ZodIssue): string {
  const place = ["spec", ...path].map(String).join(".");
  const isSecret = path.at(-1) === "url" || path[0] === "etcd";
  const isQuoted = !isSecret && input !== undefined && typeof input !== "object";
  return `${place}${isQuoted ? ` is ${JSON.stringify(input).slice(0, 80)}` : ""}: ${message}`;
}
