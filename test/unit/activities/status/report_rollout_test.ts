import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { poolWatchesOf } from "../../../../activities/backends/machine_controller/pool_watch.ts";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { ActivityRun } from "../../../support/activity_context.ts";
import { poolOfGroup } from "../../../../workflows/commands/start_options.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { pool, putPool } from "../../../support/machine_objects.ts";

function report(overrides: Partial<RolloutReport> = {}): RolloutReport {
  const ready = { type: "Ready", status: "False", reason: "Joining", message: "" } as const;
  return {
    ...{ phase: "Rolling", reason: "Joining", message: "Joining b", blockedReason: null, paused: false },
    ...{ pausedBy: null, quarantine: [], left: null, eta: null, plan: null, underway: [], conditions: [ready] },
    ...overrides,
  };
}

function entry(overrides: Partial<HistoryEntry> = {}): HistoryEntry {
  return {
    ...{ revision: "2", image: "i", kubelet: "k", configDigest: "d", outcome: "Converged", machines: 3, failed: 0 },
    ...{ actor: "kubectl", reason: "", seconds: 3600 },
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

Deno.test("ensureRolloutReported: makes the Rollout, owned by the MachineDeployment, with the ID of the run", async () => {
  const kube = newKube();
  const status = await reported(kube, report());
  deepEqual([status["phase"], status["workflowId"], status["runId"]], [
    ...["Rolling", "machine-deployment/fleet/pool", "run-1"],
  ]);
  const owner = kube.get("rollouts", "pool", "fleet")?.metadata.ownerReferences?.[0];
  deepEqual([owner?.["kind"], owner?.["uid"]], ["MachineDeployment", "uid-of-pool"]);
});

Deno.test("ensureRolloutReported: does not read the Rollout that it created, unless another writer replaced the Rollout meanwhile", async () => {
  for (const isFaster of [false, true]) {
    const kube = newKube();
    const requests: string[] = [];
    kube.onRequest = (request) => {
      requests.push(request);
      if (isFaster && request.startsWith("create")) {
        kube.put("rollouts", { metadata: { ...pool }, status: { left: 1 } });
      }
    };
    equal((await reported(kube, report()))["phase"], "Rolling");
    const owner = isFaster ? ["get rollouts fleet/pool", "get machinedeployments fleet/pool"] : [];
    deepEqual(requests, [
      ...["get rollouts fleet/pool", "get machinedeployments fleet/pool", "create rollouts fleet/pool", ...owner],
      "patch rollouts fleet/pool",
    ]);
  }
});

Deno.test("ensureRolloutReported: does nothing for a deleted MachineDeployment", async () => {
  const kube = new FakeKube();
  await reported(kube, report(), { events: [{ type: "Normal", reason: "R", message: "m" }] });
  deepEqual(kube.writes, []);
});

const request = { by: "ann", reason: "night", since: 1 };
const bad = { ...request, specHash: "s", templateHash: "t", revision: "2", image: "i", kubelet: "k" };
const step = { machine: "b", step: "Draining", since: "s", until: "u" } as const;
const blocker = { pod: "apps/web-1", owner: "Deployment apps/web", why: "PodDisruptionBudget apps/web" };

Deno.test("ensureRolloutReported: clears blockedReason, pausedBy, left, eta, plan and wave when the new report does not have them", async () => {
  const kube = newKube();
  await reported(
    kube,
    report({
      ...{ blockedReason: "PodsRemaining", paused: true, pausedBy: request, quarantine: [bad], wave: "1/3" },
      ...{ left: { ...request, kind: "Abort", bad, reapplied: 1 }, eta: "2026-01-01T00:00:00.000Z" },
      ...{ plan: { hash: "h", approved: true }, underway: [{ ...step, attempt: 1, blockers: [blocker] }] },
      waves: [{ upTo: 1, state: "Soaking", soakUntil: "2026-01-01T00:00:00.000Z" }, { upTo: 3, state: "Waiting" }],
    }),
  );
  const waves = [{ upTo: 1, state: "Done" as const }];
  const next = await reported(kube, report({ underway: [{ ...step, machine: "c" }], waves }));
  deepEqual([next["underway"], next["waves"], next["quarantine"]], [[{ ...step, machine: "c" }], waves, []]);
  for (const gone of ["blockedReason", "pausedBy", "left", "eta", "plan", "wave"]) equal(next[gone], undefined, gone);
  equal(next["paused"], false);
});

Deno.test("ensureRolloutReported: keeps lastGood, the typical durations and revision when the new report does not have them", async () => {
  const kube = newKube();
  const lastGood = { ...bad, kubelet: "k", configDigest: "d" };
  await reported(kube, report({ lastGood, usual: { join: [1], leave: [2] }, revision: "2" }));
  const { lastGood: kept, usual, revision } = await reported(kube, report());
  deepEqual([kept, usual, revision], [lastGood, { join: [1], leave: [2] }, "2"]);
});

Deno.test("ensureRolloutReported: bounds every list, and keeps the important entries of each", async () => {
  const kube = newKube();
  const many = Array.from({ length: 200 }, (_, nth) => nth);
  const status = await reported(
    kube,
    report({
      usual: { join: many, leave: many },
      quarantine: many.map((nth) => ({ ...bad, specHash: `s${nth}` })),
      underway: many.map((nth) => ({ ...step, machine: `m${nth}`, blockers: many.map(() => blocker) })),
      waves: many.map((nth) => ({ upTo: nth + 1, state: nth < 100 ? "Done" : "Waiting" })),
    }),
  );
  const { usual, quarantine, underway, waves } = status as unknown as RolloutReport;
  deepEqual([usual?.join.at(-1), usual?.join.length, usual?.leave.length], [199, 20, 20]);
  deepEqual([quarantine.at(-1)?.specHash, quarantine.length], ["s199", 5]);
  deepEqual([underway[0]?.machine, underway.length, underway[0]?.blockers?.length], ["m0", 20, 5]);
  deepEqual([waves?.[0]?.upTo, waves?.length], [96, 50]);
});

Deno.test("ensureRolloutReported: keeps only the last 50 waves when more waves are done", async () => {
  const shown = async (length: number): Promise<number[]> => {
    const waves = Array.from({ length }, (_, nth) => ({ upTo: nth + 1, state: "Done" as const }));
    const status = await reported(newKube(), report({ waves })) as unknown as RolloutReport;
    return status.waves?.map(({ upTo }) => upTo) ?? [];
  };
  deepEqual(await shown(2), [1, 2]);
  deepEqual([(await shown(80))[0], (await shown(80)).at(-1)], [31, 80]);
});

Deno.test("ensureRolloutReported: shortens a person's reason to 1,024 characters, and the message to 32,768 characters", async () => {
  const long = { ...request, reason: "x".repeat(100_000) };
  const status = await reported(newKube(), report({ paused: true, pausedBy: long, message: "y".repeat(100_000) }));
  deepEqual([(status["pausedBy"] as { reason: string }).reason.length, String(status["message"]).length], [
    ...[1024, 32_768],
  ]);
});

Deno.test("ensureRolloutReported: keeps the hash of the converged template until a report has another hash", async () => {
  const kube = newKube();
  await reported(kube, report({ convergedTemplateHash: "hash-1" }));
  equal((await reported(kube, report({ revision: "2" })))["convergedTemplateHash"], "hash-1");
});

Deno.test("ensureRolloutReported: changes the time of a condition only with its status", async () => {
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

Deno.test("ensureRolloutReported: keeps the last ten rollouts", async () => {
  const kube = newKube();
  let status = await reported(kube, report());
  for (let nth = 10; nth < 23; nth++) {
    status = await reported(kube, report({ history: entry({ startedAt: `2026-01-${nth}T00:00:00.000Z` }) }));
  }
  const days = status.history?.map(({ startedAt }) => startedAt.slice(8, 10));
  deepEqual(days, ["13", "14", "15", "16", "17", "18", "19", "20", "21", "22"]);
});

Deno.test("ensureRolloutReported: records a rollout once, even if the activity runs twice", async () => {
  const kube = newKube();
  await reported(kube, report({ history: entry() }));
  equal((await reported(kube, report({ history: entry() }))).history?.length, 1);
  equal(kube.all("events").length, 1);
});

Deno.test("ensureRolloutReported: records a rollback in the history, and sends no Event for it", async () => {
  const kube = newKube();
  await reported(kube, report({ history: entry() }));
  const back = entry({ outcome: "RolledBack", machines: 0, startedAt: "2026-02-01T00:00:00.000Z" });
  const { history } = await reported(kube, report({ history: back }), { activityId: "2" });
  deepEqual(history?.map(({ outcome }) => outcome), ["Converged", "RolledBack"]);
  equal(kube.all("events").length, 1);
});

Deno.test("ensureRolloutReported: records no history entry when a rollout had no machines to replace", async () => {
  const kube = newKube();
  await reported(kube, report({ history: entry() }));
  const quiet = entry({ machines: 0, startedAt: "2026-02-01T00:00:00.000Z" });
  const { history } = await reported(kube, report({ history: quiet }), { activityId: "2" });
  deepEqual([history?.length, kube.all("events").length], [1, 1]);
});

Deno.test("ensureRolloutReported: emits each Event once per activity, even if the activity runs twice, and again for another activity", async () => {
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

Deno.test("ensureRolloutReported: does not read the Rollout it wrote last, unless it was changed meanwhile", async () => {
  const kube = newKube();
  const { client } = kube;
  const tell = (message: string): Promise<void> =>
    inActivity(() => ensureRolloutReported(client, { pool, report: report({ message }), events: [] }));
  await tell("one");
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  await tell("two");
  deepEqual(requests, ["patch rollouts fleet/pool"]);
  const pin = { bad: "b", good: "g" };
  const rollout = kube.get("rollouts", "pool", "fleet");
  kube.put("rollouts", { ...rollout, metadata: { ...pool }, status: { ...rollout?.["status"] as object, pin } });
  requests.length = 0;
  await tell("three");
  deepEqual(requests, [
    "patch rollouts fleet/pool",
    "get rollouts fleet/pool",
    "get machinedeployments fleet/pool",
    "patch rollouts fleet/pool",
  ]);
  const status = kube.get("rollouts", "pool", "fleet")?.["status"] as Status;
  deepEqual([status["message"], status["pin"]], ["three", pin]);
});

Deno.test("ensureRolloutReported: recreates a Rollout that was deleted since its last write", async () => {
  const kube = newKube();
  const { client } = kube;
  const tell = (): Promise<void> =>
    inActivity(() => ensureRolloutReported(client, { pool, report: report(), events: [] }));
  await tell();
  kube.remove("rollouts", "pool", "fleet");
  await tell();
  equal((kube.get("rollouts", "pool", "fleet")?.["status"] as Status)["phase"], "Rolling");
});

Deno.test("fault G13: ensureRolloutReported disables the scale-down of a group's nodes by an autoscaler, and warns, while machines are in progress", async () => {
  const kube = new FakeKube();
  const spec = { nodeImage: "v", groupId: "g", autoscalerGroupName: "asg" };
  kube.put("scalinggroups", { metadata: { name: "workers" }, spec });
  const time = new Date().toISOString().replace("T", " ").replace("Z", " +0000 UTC");
  const annotations = { "cluster-autoscaler.kubernetes.io/last-updated": time };
  const metadata = { namespace: "kube-system", name: "cluster-autoscaler-status", annotations };
  kube.put("configmaps", { metadata, data: { status: "nodeGroups:\n- name: asg\n" } });
  const group = poolOfGroup("workers");
  const node = (name: string, more: Record<string, string> = {}): void => {
    const own = { "constellation.edgeless.systems/scaling-group-id": "G" };
    kube.put("nodes", { metadata: { name, annotations: { ...own, ...more } }, spec: {} });
  };
  const disabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  node("a");
  node("by-hand", { [disabled]: "true" });
  kube.put("nodes", { metadata: { name: "other", annotations: {} }, spec: {} });
  const kept = (): string[] =>
    kube.all("nodes").filter(({ metadata }) => metadata.annotations?.[disabled]).map(({ metadata }) => metadata.name);
  const conditions = async (given: RolloutReport): Promise<string[]> => {
    await inActivity(() => ensureRolloutReported(kube.client, { pool: group, report: given, events: [] }));
    const { status } = kube.get("rollouts", group.name, group.namespace) as unknown as { status: Status };
    return status.conditions.map(({ type, status }) => `${type} ${status}`);
  };
  deepEqual(await conditions(report()), ["Ready False", "AutoscalerHeld False"]);
  deepEqual(kept(), ["a", "by-hand"]);
  node("new");
  deepEqual(await conditions(report({ phase: "Halted" })), ["Ready False", "AutoscalerHeld False"]);
  deepEqual(kept(), ["a", "by-hand", "new"]);
  for (const reason of ["OutsideWindow", "Paused", "AwaitingApproval", "CloudRefused"]) {
    deepEqual(await conditions(report({ reason })), ["Ready False"]);
    deepEqual(kept(), ["by-hand"]);
    await conditions(report({ reason, underway: [step] }));
    deepEqual(kept(), ["a", "by-hand", "new"]);
  }
  deepEqual(await conditions(report({ phase: "Converged" })), ["Ready False"]);
  deepEqual(kept(), ["by-hand"]);
});

Deno.test("fault G13: ensureRolloutReported: a late attempt of an earlier report does not raise the autoscaler's minimum again after the rollout converged", async () => {
  const kube = newKube();
  const [least, most] = ["min", "max"].map((each) => `cluster.k8s.io/cluster-api-autoscaler-node-group-${each}-size`);
  const deployment = kube.get("machinedeployments", "pool", "fleet");
  ok(deployment && least && most);
  Object.assign(deployment.metadata, {
    annotations: { ...deployment.metadata.annotations, [least]: "1", [most]: "10" },
  });
  const minimum = (): string | undefined =>
    kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations?.[least];
  const replicas = String((deployment["spec"] as { replicas: number }).replicas);
  const isWatched = { isFresh: { get: () => true }, get: { value: () => ({ isAutoscaled: true }) } };
  const [late, own] = [kube.client, kube.client];
  for (const client of [late, own]) Object.defineProperties(poolWatchesOf(client).deployments, isWatched);
  const tell = (client: typeof own, phase: RolloutReport["phase"], run: ActivityRun = {}): Promise<void> =>
    inActivity(() => ensureRolloutReported(client, { pool, report: report({ phase }), events: [] }), run);
  await tell(late, "Rolling");
  equal(minimum(), replicas);
  await tell(own, "Converged");
  equal(minimum(), "1");
  await tell(late, "Rolling");
  equal(minimum(), "1");
  await tell(own, "Converged");
  await tell(own, "Rolling", { runId: "run-2" });
  equal(minimum(), replicas);
});

Deno.test("ensureRolloutReported: stores each CA bundle with the time from which new machines get it", async () => {
  const kube = newKube();
  const bundlesAfter = async (trusted?: RolloutReport["trusted"]): Promise<{ since: string; cas: string[] }[]> => {
    const status = await reported(kube, report(trusted ? { trusted } : {}));
    return status["caBundles"] as { since: string; cas: string[] }[];
  };
  const [old, both] = [["aaaaaaaaaaaaaaaa"], ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"]];
  equal(await bundlesAfter(), undefined, "Expected nothing from a run of an earlier version");
  const [first] = await bundlesAfter({ cas: old });
  ok(Math.abs(Date.parse(first?.since ?? "") - Date.now()) < 60_000);
  deepEqual(await bundlesAfter({ cas: old }), [first]);
  const changed = await bundlesAfter({ cas: both });
  deepEqual(changed.map(({ cas }) => cas), [old, both]);
  deepEqual([changed[0], await bundlesAfter({ cas: both }), await bundlesAfter()], [first, changed, changed]);
  equal((kube.get("rollouts", "pool", "fleet")?.["status"] as object & { trusted?: unknown }).trusted, undefined);
});
