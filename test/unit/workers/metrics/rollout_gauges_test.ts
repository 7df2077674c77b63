import { deepEqual, equal } from "node:assert/strict";
import { dueAt } from "../../../../activities/config/renewal.ts";
import { createMetrics, type Metrics } from "../../../../workers/metrics/registry.ts";
import { setRolloutGauges } from "../../../../workers/metrics/rollout_gauges.ts";
import type { RolloutNumbers } from "../../../../workers/rollout_numbers.ts";
import { watchedRollouts } from "../../../../workers/watched_facts.ts";

const metadata = { name: "workers", namespace: "fleet", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const noon = Date.parse("2026-01-01T12:00:00Z");
const hourMs = 3_600_000;

function numbersOf(status: object, name = "workers"): RolloutNumbers {
  return watchedRollouts.schema.parse({ metadata: { ...metadata, name }, status }).numbers;
}

function blockedFor(reason: string, hours: number): object {
  const lastTransitionTime = new Date(noon - hours * hourMs).toISOString();
  return { conditions: [{ type: "Blocked", status: "True", reason, message: "m", lastTransitionTime }] };
}

async function valuesOf(metrics: Metrics, name: string): Promise<string[]> {
  const { text } = await metrics.scrape();
  const lines = text.split("\n").filter((line) => new RegExp(`^${name}[ {]`).test(line));
  return lines.map((line) => line.slice(name.length).trim()).filter((line) => !/} 0$/.test(line));
}

async function gauges(statuses: object[]): Promise<Metrics> {
  const metrics = await createMetrics("controller");
  setRolloutGauges(metrics, statuses.map((status, at) => numbersOf(status, `p${at}`)), noon);
  return metrics;
}

Deno.test("rollout gauges: count pools by phase, and sum up machines", async () => {
  const counts = { replicas: 5, updatedReplicas: 3, readyReplicas: 4, failedMachines: 1 };
  const underway = [{ machine: "a", step: "Draining" }, { machine: "b", step: "Joining" }];
  const metrics = await gauges([{ phase: "Rolling", ...counts, underway }, { phase: "Rolling", ...counts }, {
    phase: "Halted",
  }]);
  deepEqual(await valuesOf(metrics, "ostler_rollouts"), ['{phase="Rolling"} 2', '{phase="Halted"} 1']);
  deepEqual(await valuesOf(metrics, "ostler_rollout_machines"), [
    ...['{state="desired"} 10', '{state="updated"} 6', '{state="ready"} 8', '{state="failed"} 2'],
  ]);
  deepEqual(await valuesOf(metrics, "ostler_rollout_steps"), ['{step="Joining"} 1', '{step="Draining"} 1']);
});

Deno.test("rollout gauges: count failed machines during a rollout, and not after its end", async () => {
  const failed = async (phase: string): Promise<string | undefined> => {
    const metrics = await gauges([{ phase, failedMachines: 2 }]);
    return (await valuesOf(metrics, "ostler_rollout_machines")).at(-1);
  };
  for (const phase of ["Preparing", "Creating", "Rolling", "RollingBack", "Repairing"]) {
    equal(await failed(phase), '{state="failed"} 2', phase);
  }
  for (const phase of ["Converged", "RolledBack", "Halted", "Aborted", "Deleting", ""]) {
    equal(await failed(phase), undefined, phase);
  }
});

Deno.test("rollout gauges: count blocked rollouts by reason, with the longest time for each reason", async () => {
  const blocks: [string, number][] = [["OutsideWindow", 1], ["OutsideWindow", 3], ["AwaitingApproval", 2]];
  const metrics = await gauges(blocks.map(([reason, hours]) => blockedFor(reason, hours)));
  deepEqual(await valuesOf(metrics, "ostler_rollouts_blocked"), [
    ...['{reason="OutsideWindow"} 2', '{reason="AwaitingApproval"} 1'],
  ]);
  deepEqual(await valuesOf(metrics, "ostler_rollout_blocked_seconds"), [
    ...['{reason="OutsideWindow"} 10800', '{reason="AwaitingApproval"} 7200'],
  ]);
  deepEqual(await valuesOf(metrics, "ostler_rollouts_awaiting_approval"), ["1"]);
  setRolloutGauges(metrics, [], noon);
  deepEqual(await valuesOf(metrics, "ostler_rollouts_blocked"), [], "Expected no gauge for an ended block");
});

Deno.test("fault U2: rollout gauges: name each Rollout that is active or halted, with its phase and reason", async () => {
  const metrics = await gauges([
    { phase: "Converged", reason: "AllUpdated" },
    { phase: "Rolling", reason: "Joining" },
    { phase: "Rolling", reason: "Settling", ...blockedFor("ProtectedRemain", 1) },
    { phase: "Halted", reason: "OnlySkippedRemain" },
    {},
  ]);
  const named = (name: string, phase: string, reason: string): string =>
    `{namespace="fleet",name="${name}",phase="${phase}",reason="${reason}"} 1`;
  deepEqual(await valuesOf(metrics, "ostler_rollout_info"), [
    named("p3", "Halted", "OnlySkippedRemain"),
    named("p2", "Rolling", "ProtectedRemain"),
    named("p1", "Rolling", "Joining"),
  ]);
  setRolloutGauges(metrics, [], noon);
  deepEqual(await valuesOf(metrics, "ostler_rollout_info"), []);
});

Deno.test("fault U2: rollout gauges: name at most 1,000 Rollouts, and halted ones before all others", async () => {
  const rolling = Array.from({ length: 1_500 }, () => ({ phase: "Rolling" }));
  const lines = await valuesOf(await gauges([...rolling, { phase: "Halted", reason: "X" }]), "ostler_rollout_info");
  deepEqual([lines.length, lines[0]], [1_000, '{namespace="fleet",name="p1500",phase="Halted",reason="X"} 1']);
});

Deno.test("rollout gauges: have a bounded number of series, whatever reasons a Rollout has", async () => {
  const metrics = await gauges(Array.from({ length: 500 }, (_, at) => blockedFor(`Made${at}`, 1)));
  equal((await valuesOf(metrics, "ostler_rollouts_blocked")).length, 61);
});

Deno.test("rollout gauges: report the oldest credentials, those that expire first, and those whose renewal is longest overdue", async () => {
  const made = [0, 10, 30].map((hoursAgo, at) => {
    const issuedAt = new Date(noon - hoursAgo * hourMs);
    const expiresAt = new Date(issuedAt.getTime() + 24 * hourMs);
    const renewAt = dueAt(`fleet/p${at}`, { issuedAt, expiresAt });
    return { credentials: { expiresAt: expiresAt.toISOString(), renewAt: renewAt.toISOString() } };
  });
  const metrics = await gauges([...made, { credentials: { expiresAt: "soon" } }, {}]);
  const number = async (name: string): Promise<number> => Number((await valuesOf(metrics, name))[0]);
  equal(Math.round(await number("ostler_secret_age_seconds")), 30 * 3600);
  equal(await number("ostler_credential_life_left_seconds"), -6 * 3600);
  equal(await number("ostler_credentials_expired"), 1);
  const due = Date.parse(made[2]?.credentials.renewAt ?? "");
  equal(await number("ostler_credential_overdue_seconds"), (noon - due) / 1000);
});

Deno.test("rollout gauges: report nothing when the process does not lead, or its watch may have missed changes", async () => {
  const metrics = await gauges([{ phase: "Halted", ...blockedFor("GateFailed", 1) }]);
  setRolloutGauges(metrics, undefined, noon);
  const { text } = await metrics.scrape();
  deepEqual(text.split("\n").filter((line) => /^ostler_(rollout(?!_signals)|credential|secret)/.test(line)), []);
});

Deno.test("rollout gauges: count an invalid Rollout like an empty one", () => {
  const nonsense = {
    phase: "Rolling",
    replicas: "many",
    underway: 3,
    credentials: { renewAt: "x" },
    paused: "perhaps",
  };
  deepEqual(numbersOf(nonsense), {
    ...{ namespace: "fleet", name: "workers", reason: "" },
    ...{ phase: "Rolling", paused: false, quarantined: false, desired: 0, updated: 0, ready: 0, failed: 0, steps: [] },
  });
});
