/** Credentials are renewed in time, whatever their pool is doing, and no machine is touched for that. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { ScheduleDescription, WorkflowHandle } from "@temporalio/client";
import type { rollOutMachineDeployment } from "../../workflows/mod.ts";
import type { RenewInput, RenewResult } from "../../workflows/contracts/mod.ts";
import { ensureCredentialSchedule } from "../../workers/credential_schedule.ts";
import { readConfig } from "../../workers/config.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertRuns } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

const self = { name: "", uid: "uid-1" };

function renew(stage: Stage, id: string): Promise<RenewResult> {
  const args: [RenewInput] = [{ deadlines: testDeadlines }];
  return stage.client.workflow.execute("renewCredentials", { workflowId: id, taskQueue: "ostler", args }) as Promise<
    RenewResult
  >;
}

/** A pool whose rollout was cancelled while a machine joined. */
async function cancelledPool(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await handle.cancel();
  await handle.result().catch(() => undefined); // rejects, because the run was cancelled
  return pool;
}

function makeDue(pool: FakePool): void {
  pool.renewAt = Date.now() - 1;
}

async function isRenewed(pool: FakePool): Promise<void> {
  await eventually(`the renewal of ${pool.ref.name}`, () => pool.renewAt > Date.now());
  deepEqual(pool.writes(), []);
  deepEqual(pool.violations, []);
}

test("renewCredentials: starts the rollout of every due pool, page by page, and waits for none", async (stage) => {
  stage.activities.pageSize = 2;
  const pools = [];
  for (let nth = 0; nth < 5; nth++) pools.push(await stage.grownPool({ replicas: 1 }));
  const [fresh, ...due] = pools;
  due.forEach(makeDue);
  const { pools: count } = await renew(stage, "renew-pages");
  stage.activities.pageSize = 50;
  equal(count, 4);
  for (const pool of due) {
    await isRenewed(pool);
    const handle = stage.client.workflow.getHandle(pool.holder);
    equal((await handle.result() as { outcome: string }).outcome, "Converged");
    equal(await (await handle.describe()).staticSummary(), `Roll out fleet/${pool.ref.name}`);
    equal(pool.history.length, 1, "Expected no rollout for a renewal");
  }
  equal(fresh?.count("publishConfig"), 0);
});

/** Defines a test with a pool whose rollout has converged, which `renewCredentials` can renew without a new rollout. */
function atRest(name: string, story: (stage: Stage, pool: FakePool) => Promise<void>): void {
  test(name, async (stage) => {
    stage.activities.tellsRest = true;
    const pool = await stage.grownPool({ replicas: 1 });
    makeDue(pool);
    pool.calls.length = 0;
    try {
      await story(stage, pool);
    } finally {
      stage.activities.tellsRest = false;
    }
  });
}

/** Returns the ID of the rollout's current run. */
async function runOf(stage: Stage, pool: FakePool): Promise<string> {
  return (await stage.client.workflow.getHandle(pool.holder).describe()).runId;
}

atRest("renewCredentials: renews the credentials of a resting pool without a rollout", async (stage, pool) => {
  const before = await runOf(stage, pool);
  equal((await renew(stage, "renew-resting")).pools, 1);
  await isRenewed(pool);
  deepEqual(pool.calls, ["ensureRestRenewed"]);
  equal(await runOf(stage, pool), before);
});

atRest("renewCredentials: starts the rollout of a resting pool that has changed", async (stage, pool) => {
  pool.change({ image: "image-2" });
  await renew(stage, "renew-changed-at-rest");
  const result = await stage.client.workflow.getHandle(pool.holder).result() as { outcome: string };
  equal(result.outcome, "Converged");
  assertRuns(pool, "image-2");
});

atRest("renewCredentials: starts the rollout of a resting pool whose renewal fails", async (stage, pool) => {
  const before = await runOf(stage, pool);
  pool.before["ensureRestRenewed"] = () => {
    throw failure("ObjectInvalid", "Failed to renew: HTTP 422");
  };
  await renew(stage, "renew-refused-at-rest");
  await isRenewed(pool);
  delete pool.before["ensureRestRenewed"];
  notEqual(await runOf(stage, pool), before);
});

atRest("renewCredentials: starts no rollout of a deleted pool", async (stage, pool) => {
  const before = await runOf(stage, pool);
  pool.state = "Gone";
  await renew(stage, "renew-gone");
  deepEqual(pool.calls, ["ensureRestRenewed"]);
  equal(await runOf(stage, pool), before);
});

/** Returns how many signals `desiredChanged` the run has received. */
async function timesTold(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  const told = (events ?? []).map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
  return told.filter((name) => name === "desiredChanged").length;
}

test("renewCredentials: signals a running rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  pool.renewAfterMs = 500;
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, drain: 100, recheck: 60_000 } });
  await stage.stands(handle, "Rolling", "PodsRemaining");
  const { runId } = await handle.describe();
  const before = await timesTold(handle);
  let looks = 0;
  await eventually("the signal to the rollout", async () => {
    // The running rollout renews due credentials itself, so they are made due again before each `renewCredentials`.
    makeDue(pool);
    await renew(stage, `renew-running-${looks++}`);
    return await timesTold(handle) > before;
  });
  pool.renewAfterMs = 28_800_000;
  await eventually("the renewal", () => pool.renewAt > Date.now() + 60_000);
  equal((await handle.describe()).runId, runId);
  pool.unblock();
  await handle.signal("retryRequested", {});
  await handle.result();
});

test("rollOutMachineDeployment: renews credentials while it waits for a drain", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  pool.renewAfterMs = 500;
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, drain: 20_000 } });
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  await eventually("old credentials", () => pool.renewAt < Date.now());
  pool.renewAfterMs = 28_800_000;
  await renew(stage, "renew-passing");
  await eventually("the renewal", () => pool.renewAt > Date.now());
  equal(pool.count("ensureNodeCordoned"), 1, "Expected the drain to continue");
  await eventually("the report", () => Date.parse(pool.reports.at(-1)?.credentials?.renewAt ?? "") > Date.now());
  pool.unblock();
  equal((await handle.result()).outcome, "Converged");
});

test("fault E4: a cancellation during an outage is reported by the next run, which does not continue the rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "PodsRemaining");
  const steps = ["readPool", "readDesired", "ensureRolloutReported", "ensureVictimUnmarked"];
  for (const step of steps) {
    pool.before[step] = () => {
      throw failure("ApiUnavailable", "Failed to read: HTTP 503");
    };
  }
  await handle.cancel();
  await handle.result().catch(() => undefined); // rejects, because the run was cancelled
  notEqual(pool.reports.at(-1)?.phase, "Aborted");
  for (const step of steps) delete pool.before[step];
  pool.unblock();
  const admitted = pool.count("ensureMachineAdmitted");
  // Starts a run that replaces no machine, as the controller does when Temporal shows the previous run as cancelled.
  equal((await (await stage.rollOut(pool, { publishOnly: true })).result()).outcome, "Aborted");
  const { phase, reason } = pool.reports.at(-1) ?? {};
  deepEqual([phase, reason, pool.count("ensureMachineAdmitted")], ["Aborted", "Cancelled", admitted]);
  deepEqual(pool.machines.filter(({ ready, leaving, mark, cordoned }) => ready && !leaving && (mark || cordoned)), []);
});

test("renewCredentials: renews the credentials of a pool whose rollout was cancelled, and does not continue the rollout", async (stage) => {
  const pool = await cancelledPool(stage);
  pool.calls.length = 0;
  makeDue(pool);
  await renew(stage, "renew-cancelled");
  await isRenewed(pool);
  const result = await stage.client.workflow.getHandle(pool.holder).result() as { outcome: string };
  equal(result.outcome, "Published");
  equal(pool.reports.at(-1)?.phase, "Aborted");
});

test("renewCredentials: rolls out a change that is made after the due pools are listed, and before the started run reads the pool", async (stage) => {
  const pool = await cancelledPool(stage);
  makeDue(pool);
  pool.before["recall"] = () => {
    delete pool.before["recall"];
    pool.mend();
    pool.change({ image: "image-3" });
  };
  await renew(stage, "renew-changed");
  const result = await stage.client.workflow.getHandle(pool.holder).result() as { outcome: string };
  equal(result.outcome, "Converged");
  assertRuns(pool, "image-3");
});

function breakProfile(pool: FakePool): void {
  pool.before["publishConfig"] = () => {
    throw failure("ProfileMissing", 'Failed to render: OperatingSystemProfile "kube-system/osp-ubuntu" does not exist');
  };
}

test("renewCredentials: renews the published secrets of a pool whose profile was deleted, and reports the failure", async (stage) => {
  const pool = await stage.grownPool();
  const published = { ...pool.published };
  breakProfile(pool);
  makeDue(pool);
  pool.renewAfterMs = 3_000;
  await renew(stage, "renew-broken");
  await isRenewed(pool);
  const handle = stage.client.workflow.getHandle<typeof rollOutMachineDeployment>(pool.holder);
  const { message } = await stage.stands(handle, "Halted", "ProfileMissing");
  ok(message.includes("osp-ubuntu"));
  await eventually("the report", () => Date.parse(pool.reports.at(-1)?.credentials?.renewAt ?? "") === pool.renewAt);
  deepEqual(pool.published, published);
  await eventually("old credentials", () => pool.renewAt < Date.now());
  pool.renewAfterMs = 28_800_000;
  await renew(stage, "renew-broken-again");
  await eventually("the next renewal", () => pool.renewAt > Date.now());
  await stage.stands(handle, "Halted", "ProfileMissing");
  delete pool.before["publishConfig"];
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
});

test("rollOutMachineDeployment: reads the published secrets once, and not again before they are due", async (stage) => {
  const pool = await stage.grownPool();
  breakProfile(pool);
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: 200 } });
  await eventually("several attempts to publish", () => pool.count("publishConfig") > 3);
  equal(pool.count("ensureCredentialsRenewed"), 1);
  delete pool.before["publishConfig"];
  await handle.result();
});

test("rollOutMachineDeployment: reports secrets that cannot be renewed, beside the failure of the profile", async (stage) => {
  const pool = await stage.grownPool();
  breakProfile(pool);
  pool.before["ensureCredentialsRenewed"] = () => {
    throw failure("CredentialsMissing", "Failed to renew: the secrets have no known credentials");
  };
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
  await stage.stands(handle, "Halted", "ProfileMissing");
  await eventually("both events", () => pool.events.length === 2);
  deepEqual(pool.events.map(({ reason }) => reason), ["CredentialsMissing", "ProfileMissing"]);
  delete pool.before["publishConfig"];
  await stage.tell(pool);
  await handle.result();
});

test("rollOutMachineDeployment: publishes again, in a new run, when a signal arrives while the run ends", async (stage) => {
  const pool = await stage.grownPool();
  pool.after["ensureRolloutReported"] = async () => {
    if (pool.reports.at(-1)?.phase !== "Converged") return;
    delete pool.after["ensureRolloutReported"];
    pool.calls.length = 0;
    await stage.tell(pool);
  };
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "Converged");
  equal(pool.count("publishConfig"), 1, "Expected the publication of a new run");
});

function describe(stage: Stage): Promise<ScheduleDescription> {
  return stage.client.schedule.getHandle("renew-credentials").describe();
}

test("ensureCredentialSchedule: creates one Schedule that has a note and starts runs that renew credentials", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  const config = readConfig({ OSTLER_CREDENTIAL_SECONDS: "86400", OSTLER_DEADLINES: '{"recheck": "1m"}' });
  await ensureCredentialSchedule(stage.client, { config, self });
  const made = await describe(stage);
  deepEqual(made.spec.intervals?.map(({ every }) => every), [3_600_000]);
  equal(made.policies.overlap, "SKIP");
  ok(/third of their life/.test(made.state.note ?? ""));
  ok(/third of their life/.test(String(made.memo?.["purpose"])));
  equal(made.action.workflowType, "renewCredentials");
  deepEqual(made.action.args, [{ deadlines: { recheck: "1m" } }]);
  makeDue(pool);
  await stage.client.schedule.getHandle("renew-credentials").trigger();
  await isRenewed(pool);
  const [run] = (await describe(stage)).info.recentActions;
  ok(run?.action.workflow.workflowId.startsWith("renew-credentials-"));
});

test("ensureCredentialSchedule: follows the settings, and keeps a Schedule paused that a person paused", async (stage) => {
  await ensureCredentialSchedule(stage.client, { config: readConfig({ OSTLER_CREDENTIAL_SECONDS: "7200" }), self });
  await eventually("the settings", async () => (await describe(stage)).spec.intervals?.[0]?.every === 300_000);
  await stage.client.schedule.getHandle("renew-credentials").pause("incident 12");
  await eventually("the pause", async () => (await describe(stage)).state.paused);
  await ensureCredentialSchedule(stage.client, { config: readConfig({ OSTLER_CREDENTIAL_SECONDS: "3600" }), self });
  await eventually("the change", async () => (await describe(stage)).spec.intervals?.[0]?.every === 150_000);
  const { state } = await describe(stage);
  deepEqual([state.paused, state.note], [true, "incident 12"]);
});
