import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../../../workflows/contracts.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { ActivityRun } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { pool, putPool } from "../../../support/machine_objects.ts";

function report(overrides: Partial<RolloutReport> = {}): RolloutReport {
  const ready = { type: "Ready", status: "False", reason: "Joining", message: "" } as const;
  return {
    ...{ phase: "Rolling", reason: "Joining", message: "Joining b", blockedReason: null, paused: false },
    ...{ replacement: null, conditions: [ready] },
    ...overrides,
  };
}

function entry(overrides: Partial<HistoryEntry> = {}): HistoryEntry {
  return {
    ...{ revision: "2", image: "i", kubelet: "k", configDigest: "d", outcome: "Converged", machines: 3 },
    ...{ startedAt: "2026-01-01T00:00:00.000Z", endedAt: "2026-01-01T01:00:00.000Z" },
    ...overrides,
  };
}

type Status = Record<string, unknown> & {
  conditions: { type: string; status: string; reason: string; lastTransitionTime: string }[];
  history?: HistoryEntry[];
};

async function reported(
  kube: FakeKube,
  given: RolloutReport,
  { events = [], ...run }: ActivityRun & { events?: PoolEvent[] } = {},
): Promise<Status> {
  await inActivity(() => ensureRolloutReported(kube.client, { pool, report: given, events }), run);
  return kube.get("rollouts", "pool", "fleet")?.["status"] as Status;
}

function newKube(): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  return kube;
}

Deno.test("ensureRolloutReported makes the Rollout, owned by the MachineDeployment, with the run's id", async () => {
  const kube = newKube();
  const status = await reported(kube, report());
  deepEqual([status["phase"], status["workflowId"], status["runId"]], [
    ...["Rolling", "machine-deployment/fleet/pool", "run-1"],
  ]);
  const owner = kube.get("rollouts", "pool", "fleet")?.metadata.ownerReferences?.[0];
  deepEqual([owner?.["kind"], owner?.["uid"]], ["MachineDeployment", "uid-of-pool"]);
});

Deno.test("ensureRolloutReported does nothing for a MachineDeployment that is gone", async () => {
  const kube = new FakeKube();
  await reported(kube, report(), { events: [{ type: "Normal", reason: "R", message: "m" }] });
  deepEqual(kube.writes, []);
});

Deno.test("ensureRolloutReported takes away what no longer holds", async () => {
  const kube = newKube();
  const replacement = { machine: "b", victim: "a", step: "Joining", since: "s", until: "u" };
  await reported(kube, report({ replacement, blockedReason: "PodsRemaining" }));
  const next = await reported(kube, report({ replacement: { ...replacement, machine: "c", victim: null } }));
  deepEqual(next["replacement"], { machine: "c", step: "Joining", since: "s", until: "u" });
  const last = await reported(kube, report());
  deepEqual([last["replacement"], last["blockedReason"]], [undefined, undefined]);
});

Deno.test("ensureRolloutReported keeps the hash of the converged template until there is another", async () => {
  const kube = newKube();
  await reported(kube, report({ convergedTemplateHash: "hash-1" }));
  equal((await reported(kube, report({ revision: "2" })))["convergedTemplateHash"], "hash-1");
});

Deno.test("ensureRolloutReported changes the time of a condition only with its status", async () => {
  const kube = newKube();
  const [first] = (await reported(kube, report())).conditions;
  const longAgo = "2020-01-01T00:00:00.000Z";
  kube.put("rollouts", { metadata: { ...pool }, status: { conditions: [{ ...first, lastTransitionTime: longAgo }] } });
  const other = { type: "Ready", status: "False", reason: "Draining", message: "" } as const;
  const [second] = (await reported(kube, report({ conditions: [other] }))).conditions;
  deepEqual([second?.reason, second?.lastTransitionTime], ["Draining", longAgo]);
  const [third] = (await reported(kube, report({ conditions: [{ ...other, status: "True" }] }))).conditions;
  notEqual(third?.lastTransitionTime, longAgo);
});

Deno.test("ensureRolloutReported remembers the last ten rollouts", async () => {
  const kube = newKube();
  let status = await reported(kube, report());
  for (let nth = 10; nth < 23; nth++) {
    status = await reported(kube, report({ history: entry({ startedAt: `2026-01-${nth}T00:00:00.000Z` }) }));
  }
  const days = status.history?.map(({ startedAt }) => startedAt.slice(8, 10));
  deepEqual(days, ["13", "14", "15", "16", "17", "18", "19", "20", "21", "22"]);
});

Deno.test("ensureRolloutReported writes a rollout once, though the activity runs twice", async () => {
  const kube = newKube();
  await reported(kube, report({ history: entry() }));
  equal((await reported(kube, report({ history: entry() }))).history?.length, 1);
  equal(kube.all("events").length, 1);
});

Deno.test("ensureRolloutReported does not call it news when everything was in place", async () => {
  const kube = newKube();
  await reported(kube, report({ history: entry() }));
  const quiet = entry({ machines: 0, startedAt: "2026-02-01T00:00:00.000Z" });
  const { history } = await reported(kube, report({ history: quiet }), { activityId: "2" });
  deepEqual([history?.length, kube.all("events").length], [1, 1]);
});

Deno.test("ensureRolloutReported emits each Event once per cause, and again for another cause", async () => {
  const kube = newKube();
  const events: PoolEvent[] = [{ type: "Warning", reason: "JoinDeadlineExceeded", message: "m".repeat(5000) }];
  await reported(kube, report(), { events });
  await reported(kube, report(), { events });
  equal(kube.all("events").length, 1);
  await reported(kube, report(), { events, activityId: "2" });
  equal(kube.all("events").length, 2);
  const [event] = kube.all("events");
  equal(String(event?.["message"]).length <= 1024, true);
  deepEqual((event?.["involvedObject"] as Record<string, unknown>)["uid"], "uid-of-pool");
  match(event?.metadata.name ?? "", /^pool\.[0-9a-f]{16}$/);
});
