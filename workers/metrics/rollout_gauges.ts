/** The leader's metrics of all Rollouts. */
import type { RolloutNumbers } from "../rollout_numbers.ts";
import type { Metrics } from "./registry.ts";
import type { NameOf } from "./table.ts";

/** Phases of Rollouts whose failed machines are exported; the failures of an ended rollout are only in its Rollout. */
const underWay: readonly string[] = ["Preparing", "Creating", "Rolling", "RollingBack", "Repairing"];
/** All phases; each is exported, even if no pool is in it. */
export const phases = [
  ...underWay,
  ...["Converged", "RolledBack", "Halted", "Aborted", "Deleting"],
];
const steps = ["Joining", "Gates", "Draining", "Removing", "Repairing", "Relieving"];
const states = ["desired", "updated", "ready", "failed"] as const;
/** Phases of a pool at rest: nothing is in progress, and no user is needed. */
const atRest: readonly string[] = ["", "Converged"];
/**
 * Maximum pools with a series of their own, because a change may concern a whole fleet; pools that need a person come
 * first.
 */
const mostNamed = 1_000;
/** Maximum distinct reasons: Ostler has about thirty, and authors of Rollouts could create any number. */
const mostReasons = 60;
const told = [
  ...["ostler_rollouts", "ostler_rollouts_paused", "ostler_rollouts_awaiting_approval", "ostler_rollouts_quarantined"],
  ...["ostler_rollouts_blocked", "ostler_rollout_blocked_seconds", "ostler_rollout_machines", "ostler_rollout_steps"],
  ...["ostler_secret_age_seconds", "ostler_credential_life_left_seconds", "ostler_credential_overdue_seconds"],
  ...["ostler_credentials_expired", "ostler_rollout_info"],
] as NameOf<"gauge">[];

/** Sets the metrics of all Rollouts, or removes them if this process does not know the Rollouts; `now` is epoch ms. */
export function setRolloutGauges(metrics: Metrics, rollouts: readonly RolloutNumbers[] | undefined, now: number): void {
  for (const name of told) metrics.clear(name);
  if (!rollouts) return;
  const count = (holds: (each: RolloutNumbers) => boolean): number => rollouts.filter(holds).length;
  for (const phase of phases) metrics.set("ostler_rollouts", count((each) => each.phase === phase), { phase });
  metrics.set("ostler_rollouts_paused", count(({ paused }) => paused));
  metrics.set("ostler_rollouts_awaiting_approval", count(({ blocked }) => blocked?.reason === "AwaitingApproval"));
  metrics.set("ostler_rollouts_quarantined", count(({ quarantined }) => quarantined));
  for (const state of states) {
    const counted = state === "failed" ? rollouts.filter(({ phase }) => underWay.includes(phase)) : rollouts;
    metrics.set("ostler_rollout_machines", sum(counted.map((each) => each[state])), { state });
  }
  for (const step of steps) {
    const number = sum(rollouts.map((each) => each.steps.filter((one) => one === step).length));
    metrics.set("ostler_rollout_steps", number, { step });
  }
  setNamed(metrics, rollouts);
  setBlocked(metrics, rollouts, now);
  setCredentials(metrics, rollouts, now);
}

function setNamed(metrics: Metrics, rollouts: readonly RolloutNumbers[]): void {
  const named = rollouts.filter(({ phase, blocked }) => blocked !== undefined || !atRest.includes(phase));
  const urgency = ({ phase, blocked }: RolloutNumbers): number => phase === "Halted" ? 0 : blocked ? 1 : 2;
  const first = named.sort((one, other) => urgency(one) - urgency(other)).slice(0, mostNamed);
  for (const { namespace, name, phase, reason } of first) {
    metrics.set("ostler_rollout_info", 1, { namespace, name, phase, reason });
  }
}

function setBlocked(metrics: Metrics, rollouts: readonly RolloutNumbers[], now: number): void {
  const since = new Map<string, number[]>();
  for (const { blocked } of rollouts) {
    if (!blocked) continue;
    const reason = since.size < mostReasons || since.has(blocked.reason) ? blocked.reason : "Other";
    since.set(reason, [...since.get(reason) ?? [], blocked.since]);
  }
  for (const [reason, times] of since) {
    metrics.set("ostler_rollouts_blocked", times.length, { reason });
    metrics.set("ostler_rollout_blocked_seconds", Math.max(0, now - least(times)) / 1000, { reason });
  }
}

function setCredentials(metrics: Metrics, rollouts: readonly RolloutNumbers[], now: number): void {
  const all = rollouts.flatMap(({ credentials }) => credentials ?? []);
  metrics.set("ostler_credentials_expired", all.filter(({ expiresAt }) => expiresAt <= now).length);
  if (all.length === 0) return;
  metrics.set("ostler_secret_age_seconds", Math.max(0, now - least(all.map(({ issuedAt }) => issuedAt))) / 1000);
  metrics.set("ostler_credential_life_left_seconds", (least(all.map(({ expiresAt }) => expiresAt)) - now) / 1000);
  const overdue = Math.max(0, now - least(all.map(({ renewAt }) => renewAt))) / 1000;
  metrics.set("ostler_credential_overdue_seconds", overdue);
}

// Reduces instead of spreading, because a call has a maximum number of arguments.
function least(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.min(one, other), Infinity);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
