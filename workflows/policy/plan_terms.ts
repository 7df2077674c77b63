/** What the approval of a plan rests on. */
import type { Desired, PlanTerms, Rules } from "../contracts/mod.ts";
import { planHash } from "./plan_hash.ts";
import type { Supplier } from "./supplier/supplier.ts";

/**
 * Of the pool and its rules as they are. Nothing in it changes by itself while the rollout goes on: which machines are
 * left, waves that are done and the times of windows are not in it; nor is the name of the policy. Of the room for
 * newcomers only whether there is any, as a share of the machines is rounded anew whenever their number changes.
 */
export function planTerms(supplier: Supplier, desired: Desired, rules: Rules): PlanTerms {
  const { specHash, replicas } = desired;
  const { source: _source, conflict: _conflict, windows, inPlace, ...lasting } = rules;
  const hasRoom = supplier.roomOf(desired) > 0;
  // Of pools whose machines are only ever replaced it says nothing.
  const update = supplier.capabilities.updates.includes("InPlace") && inPlace ? { inPlace } : {};
  return { hash: planHash([specHash, hasRoom, { ...lasting, ...update, windows: windows !== null }]), replicas };
}

/**
 * What was approved covers what is so now. A pool that shrinks, or grows again to what it was, stays covered: else each
 * move of an autoscaler would ask a person. One that grows beyond it is more than anybody looked at.
 */
export function isCovered(approved: PlanTerms, now: PlanTerms): boolean {
  return approved.hash === now.hash && now.replicas <= approved.replicas;
}
