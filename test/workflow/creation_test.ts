import { WithStartWorkflowOperation } from "@temporalio/client";
import { deepEqual, equal, match } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("rollOutMachineDeployment: waits for a new pool to join and converges", async (stage) => {
  const pool = stage.pool({ fate: () => "registered" });
  pool.joinOnceAwaited();
  const { joins, ...result } = await (await stage.rollOut(pool)).result();
  deepEqual(joins.map(({ machine }) => machine).sort(), [1, 2, 3].map((nth) => `${pool.ref.name}-${nth}`));
  deepEqual(result, {
    ...{ outcome: "Converged", generation: 1, revision: "1", image: "image-1", kubelet: "1.35.3" },
    ...{ configDigest: pool.published?.digest, replaced: 0, replacements: [] },
  });
  deepEqual(pool.writes(), []);
  equal(pool.convergedHash, "hash-of-image-1-1.35.3");
});

test("rollOutMachineDeployment: publishes before it reads machines and reports Converged last", async (stage) => {
  const pool = stage.pool({ replicas: 1 });
  await (await stage.rollOut(pool)).result();
  const firsts = ["readDesired", "publishConfig", "readPool"].map((call) => pool.calls.indexOf(call));
  deepEqual(firsts, [...firsts].sort((a, b) => a - b));
  equal(pool.reports.at(-1)?.phase, "Converged");
  deepEqual(
    pool.reports.at(-1)?.conditions.map(({ type, status }) => `${type}=${status}`),
    [
      ...["Ready=True", "Progressing=False", "Blocked=False", "Paused=False"],
      ...["RolledBack=False", "Quarantined=False"],
    ],
  );
  deepEqual(pool.events.map(({ reason }) => reason), ["ConfigPublished", "RolloutConverged"]);
});

test("rollOutMachineDeployment: records the creation of a pool in its history, even if the report succeeds late", async (stage) => {
  const pool = stage.pool({ replicas: 0 });
  pool.before["ensureRolloutReported"] = (times) => {
    if (times === 1) throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
  };
  await (await stage.rollOut(pool)).result();
  equal(pool.count("ensureRolloutReported"), 2);
  deepEqual(pool.history.map(({ image, outcome }) => [image, outcome]), [["image-1", "Converged"]]);
});

test("rollOutMachineDeployment: ends at once for a converged pool", async (stage) => {
  const pool = await stage.grownPool();
  const result = await (await stage.rollOut(pool)).result();
  equal(result.outcome, "Converged");
  deepEqual([result.joins, result.replaced, pool.writes(), pool.events], [[], 0, [], []]);
});

test("rollOutMachineDeployment: converges with published secrets when no machine is desired", async (stage) => {
  const pool = stage.pool({ replicas: 0 });
  const result = await (await stage.rollOut(pool)).result();
  equal(result.outcome, "Converged");
  equal(pool.reports.at(-1)?.reason, "ScaledToZero");
  equal(pool.published?.revision, 1);
});

test("rollOutMachineDeployment: ends as Gone for a missing MachineDeployment", async (stage) => {
  const pool = stage.pool();
  pool.state = "Gone";
  deepEqual(await (await stage.rollOut(pool)).result(), {
    ...{ outcome: "Gone", replaced: 0, joins: [], replacements: [] },
  });
});

test("rollOutMachineDeployment: waits for machine-controller to number the template", async (stage) => {
  const pool = stage.pool({ replicas: 1 });
  Object.assign(pool, { isControllerDown: true, sets: [], machines: [] });
  const handle = await stage.rollOut(pool);
  const { message } = await stage.stands(handle, "Preparing", "Settling");
  match(message, /assign a revision to generation 1/);
  equal(pool.published, undefined);
  pool.unblock();
  equal((await handle.result()).outcome, "Converged");
});

test("rollOutMachineDeployment: halts when the profile is missing, and continues after a signal of a change", async (stage) => {
  const pool = stage.pool();
  pool.before["publishConfig"] = () => {
    throw failure("ProfileMissing", 'Failed to render: OperatingSystemProfile "kube-system/osp-ubuntu" does not exist');
  };
  const handle = await stage.rollOut(pool, { deadlines: { recheck: "1h" } });
  const { message } = await stage.stands(handle, "Halted", "ProfileMissing");
  match(message, /osp-ubuntu/);
  await eventually("a report", () => pool.reports.at(-1)?.blockedReason === "ProfileMissing");
  deepEqual(pool.events.map(({ type, reason }) => `${type} ${reason}`), ["Warning ProfileMissing"]);
  delete pool.before["publishConfig"];
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  equal(pool.reports.at(-1)?.blockedReason, null);
});

test("rollOutMachineDeployment: reads again by itself while it is halted", async (stage) => {
  const pool = stage.pool();
  pool.before["publishConfig"] = (times) => {
    if (times < 3) throw failure("NameCollision", "Failed to publish: another pool owns the name");
  };
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.events.map(({ reason }) => reason), ["NameCollision", "ConfigPublished", "RolloutConverged"]);
});

test("rollOutMachineDeployment: keeps a signal that arrives while the run reports its end", async (stage) => {
  const pool = stage.pool({ replicas: 0 });
  whileReporting(pool, () => stage.client.workflow.getHandle(pool.holder).signal("pauseRequested", { by: "ada" }));
  await (await stage.rollOut(pool)).result();
  equal(pool.rollout.paused?.by, "ada");
});

test("rollOutMachineDeployment: answers a command that arrives while the run reports its end", async (stage) => {
  const pool = stage.pool({ replicas: 0 });
  const answer = Promise.withResolvers<unknown>();
  whileReporting(pool, () => {
    const startWorkflowOperation = new WithStartWorkflowOperation("rollOutMachineDeployment", {
      ...{ workflowId: pool.holder, taskQueue: "ostler", args: [pool.ref] },
      workflowIdConflictPolicy: "USE_EXISTING",
    });
    const update = { args: [{ by: "ada" }] as [object], startWorkflowOperation };
    stage.client.workflow.executeUpdateWithStart("pause", update).then(answer.resolve, answer.reject);
  });
  await (await stage.rollOut(pool)).result();
  match(JSON.stringify(await answer.promise), /Held new machines do not boot until resume/);
  await eventually("the pause on the Rollout", () => pool.rollout.paused?.by === "ada");
});

test("rollOutMachineDeployment: publishes a pool without machines in one workflow task", async (stage) => {
  const pool = stage.pool({ replicas: 0 });
  const handle = await stage.rollOut(pool);
  await handle.result();
  const { events } = await handle.fetchHistory();
  const tasks = events?.filter(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes);
  equal(tasks?.length, 1);
});

/** Calls `act` during the last report of the first run; the report lasts until Temporal has received the call. */
function whileReporting(pool: FakePool, act: () => unknown): void {
  pool.before["ensureRolloutReported"] = async () => {
    delete pool.before["ensureRolloutReported"];
    await act();
    await pause(300);
  };
}
