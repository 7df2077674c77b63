import { WorkflowFailedError, WorkflowUpdateFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { Condition } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

const patient = { ...testDeadlines, recheck: "1h" };

/** Starts a rollout whose first new machine does not become Ready before the test calls `pool.mend()`. */
async function rolloutUnderWay(stage: Stage): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  return { pool, handle };
}

function refusal(
  type: typeof WorkflowFailedError | typeof WorkflowUpdateFailedError,
  message: RegExp,
): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof type && error.cause instanceof ApplicationFailure, String(error));
    equal(error.cause.type, type === WorkflowUpdateFailedError ? "CommandRefused" : "InvalidInput");
    match(error.cause.message, message);
    return true;
  };
}

test("pause: lets the machine in progress finish, admits no other, and resume continues", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await handle.executeUpdate("pause", { args: [{ by: "somebody", reason: "incident 12" }] });
  pool.mend();
  await eventually("the machine in progress to finish", () => pool.find(pool.nth(1)) === undefined);
  const { paused, pausedBy } = await stage.stands(handle, "Rolling", "Paused");
  deepEqual([pausedBy?.by, pausedBy?.reason], ["somebody", "incident 12"]);
  deepEqual([paused, pool.count("ensureMachineAdmitted"), pool.count("awaitNodeDrained")], [true, 1, 1]);
  const isPaused = ({ type, status }: Condition): boolean => type === "Paused" && status === "True";
  const found = await eventually("the condition", () => pool.reports.at(-1)?.conditions.find(isPaused));
  match(found.message, /Paused by somebody.*incident 12/);
  await handle.executeUpdate("resume", { args: [{ by: "somebody" }] });
  equal((await handle.result()).replaced, 3);
});

test("pauseRequested, resumeRequested: the signals have the same effect as the commands pause and resume", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await handle.signal("pauseRequested", { by: "a batch" });
  pool.mend();
  await stage.stands(handle, "Rolling", "Paused");
  await handle.signal("resumeRequested", {});
  equal((await handle.result()).replaced, 3);
});

test("pauseRequested: needs no argument", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await handle.signal("pauseRequested");
  equal((await stage.progress(handle)).paused, true);
  await handle.cancel();
  await eventually("an end", () => pool.reports.at(-1)?.phase === "Aborted");
});

test("retryRequested: starts a halted rollout again", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "instance";
  pool.change({ image: "image-2" });
  const deadlines = { ...patient, instance: 100 };
  pool.rules.join.attempts = 1;
  const handle = await stage.rollOut(pool, { deadlines });
  await stage.stands(handle, "Halted", "Quarantined");
  pool.mend();
  await handle.signal("retryRequested", { by: "somebody" });
  equal((await handle.result()).outcome, "Converged");
});

test("pause: refuses an unknown or invalid field, and names the field", async (stage) => {
  const { handle } = await rolloutUnderWay(stage);
  for (const [request, named] of [[{ who: "me" }, /"who"/], [{ reason: 7 }, /"reason"/]] as const) {
    await rejects(
      handle.executeUpdate("pause", { args: [request] }),
      refusal(WorkflowUpdateFailedError, named),
    );
  }
  equal((await stage.progress(handle)).paused, false);
  await handle.cancel();
});

test("progress: returns each machine in progress with the start and the deadline of its step", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  const seen = await stage.progress(handle);
  deepEqual([seen.phase, seen.reason, seen.target?.image], ["Rolling", "Joining", "image-2"]);
  deepEqual(seen.underway.map(({ machine, step }) => [machine, step]), [[pool.nth(4), "Joining"]]);
  ok(seen.underway.every(({ since, until }) => since < until));
  ok(Date.parse(seen.until ?? "") > Date.parse(seen.since));
  deepEqual(seen.counts, {
    ...{ desired: 3, machines: 4, updated: 1, updatedReady: 0, ready: 3, old: 3, leaving: 0, unhealthy: 0 },
  });
  deepEqual([seen.policy, seen.waves], ["defaults", [{ upTo: 3, state: "Rolling" }]]);
  await handle.cancel();
});

test("cancel: unmarks the machine to be replaced, reports Aborted and ends the run as cancelled", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  equal(pool.find(`${pool.ref.name}-1`)?.mark, pool.holder);
  await handle.cancel();
  await rejects(handle.result(), (error) => error instanceof WorkflowFailedError);
  equal((await handle.describe()).status.name, "CANCELLED");
  deepEqual(pool.machines.filter(({ created, hold, mark }) => created < 4 && (hold || mark)), []);
  equal(pool.machines.filter(({ ready }) => ready).length, 3);
  deepEqual([pool.reports.at(-1)?.phase, pool.reports.at(-1)?.underway], ["Aborted", []]);
  equal(pool.events.at(-1)?.reason, "RolloutAborted");
});

test("cancel: works while the rollout is paused", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await handle.signal("pauseRequested", {});
  pool.mend();
  await stage.stands(handle, "Rolling", "Paused");
  await handle.cancel();
  await rejects(handle.result(), (error) => error instanceof WorkflowFailedError);
  equal(pool.reports.at(-1)?.phase, "Aborted");
});

test("rollout: has search attributes, a title and a description for the web UI", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  const { name, namespace } = pool.ref;
  const { typedSearchAttributes } = await handle.describe();
  const found = Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
  const { BuildIds: _, TemporalChangeVersion: __, ...ours } = found;
  deepEqual(ours, {
    ...{ KubernetesNamespace: namespace, MachineDeployment: name, TargetImage: "image-2", Phase: "Rolling" },
  });
  const metadata = await handle.query<{ currentDetails: string }>("__temporal_workflow_metadata");
  for (const word of ["## Rolling: Joining", `${namespace}/${name}`, "image-2", "at the latest", "ostler pause"]) {
    ok(metadata.currentDetails.includes(word), `Expected ${word} in: ${metadata.currentDetails}`);
  }
  await handle.cancel();
});

test("rollout: every activity and every timer has a summary", async (stage) => {
  const { handle, pool } = await rolloutUnderWay(stage);
  await handle.signal("pauseRequested", {});
  pool.mend();
  await stage.stands(handle, "Rolling", "Paused");
  await handle.signal("resumeRequested", {});
  await handle.result();
  const { events = [] } = await handle.fetchHistory();
  const steps = (events ?? []).filter((event) =>
    event.activityTaskScheduledEventAttributes ?? event.timerStartedEventAttributes ??
      (event.markerRecordedEventAttributes?.markerName === "core_local_activity" || undefined)
  );
  ok(steps.length > 20);
  deepEqual(steps.filter((event) => !event.userMetadata?.summary).map((event) => event.eventType), []);
});

test("rollOutMachineDeployment: refuses an unknown or invalid field, and names the field", async (stage) => {
  const wrong: [object, RegExp][] = [
    [{ replicas: 3 }, /field "replicas"/],
    [{ attempts: 0 }, /field "attempts"/],
    [{ attempts: "2" }, /field "attempts"/],
    [{ deadlines: { drain: "soon" } }, /deadlines\.drain/],
    [{ deadlines: { instance: -1 } }, /deadlines\.instance/],
    [{ deadlines: { brew: "1m" } }, /deadlines\."?brew/],
    [{ namespace: "Not A Name" }, /field "namespace"/],
    [{ carried: "nonsense" }, /field "carried"/],
  ];
  for (const [fields, named] of wrong) {
    const handle = await stage.rollOut(stage.pool(), fields);
    await rejects(handle.result(), refusal(WorkflowFailedError, named), JSON.stringify(fields));
  }
});

test("rollOutMachineDeployment: refuses a workflow ID that does not belong to the input", async (stage) => {
  const pool = stage.pool();
  const start = { taskQueue: "ostler", args: [{ ...pool.ref }], workflowId: "machine-deployment/fleet/other" };
  const handle = await stage.client.workflow.start("rollOutMachineDeployment", start);
  await rejects(handle.result(), refusal(WorkflowFailedError, /workflow ID.*machine-deployment\/fleet\/pool/));
  deepEqual(pool.calls, []);
});

test("rollOutMachineDeployment: refuses to start without an input", async (stage) => {
  const start = { taskQueue: "ostler", args: [], workflowId: "machine-deployment/fleet/none" };
  const handle = await stage.client.workflow.start("rollOutMachineDeployment", start);
  await rejects(handle.result(), refusal(WorkflowFailedError, /one JSON object/));
});
