import { deepEqual, equal, ok } from "node:assert/strict";
import type { Desired, Rules } from "../../../../workflows/contracts/mod.ts";
import { apply } from "../../../../workflows/state/apply.ts";
import type { Outcome, TaskEvent } from "../../../../workflows/state/outcomes.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { openRun } from "../../../support/open_run.ts";

const desired = { specHash: "s", templateHash: "new", image: "i" } as Desired;
const boot = { since: 1000, attempt: 0, templateHash: "new" };

function taskOf(kind: Task["kind"], subject = "a", templateHash = "new"): Task {
  const step = kind === "join" ? "Joining" : "Draining";
  return { kind, subject, templateHash, step, since: 1000, until: 2000, attempt: 0, blockers: [], doubt: "" };
}

/** A run in which machine "a" boots, "b" drains and "c" is updated; of its rules, these tests need only `maxFailed`. */
function running(maxFailed = 1): Rollout {
  return openRun({
    target: { desired, rules: { maxFailed } as Rules },
    machines: {
      booting: { a: { ...boot } },
      draining: { b: { since: 1000, templateHash: "old", image: "o", kubelet: "k" } },
      updating: { c: { since: 1000, templateHash: "new", image: "i" } },
    },
  });
}

function after(rollout: Rollout, task: Task, ...events: (TaskEvent | Outcome)[]): Rollout {
  for (const event of events) apply(rollout, task, event);
  return rollout;
}

function reasonsOf({ view }: Rollout): string[] {
  return view.news.map(({ reason }) => reason);
}

Deno.test("apply: Joined records the machine and ends its boot", () => {
  const joined = { machine: "a", node: "n", image: "i", kubelet: "k", readyAt: 4000 };
  const { machines, records, memory } = after(running(), taskOf("join"), { is: "Joined", joined });
  deepEqual([machines.booting, records.joins[0]?.joinedSeconds, memory.usual.join], [{}, 3, [3]]);
});

Deno.test("apply: Recreated passes its attempt number to the next new machine, unless no attempt is left", () => {
  const again = after(running(), taskOf("join"), { is: "Recreated", attempt: 2 });
  const last = after(running(), taskOf("join"), { is: "Recreated" });
  deepEqual([again.machines.retries, again.machines.booting, last.machines.retries], [[2], {}, []]);
});

Deno.test("apply: Recreated with keepsSlot reserves the slot for five minutes, and a join ends the count of recreated machines", () => {
  const { machines, slots } = after(running(), taskOf("join"), { is: "Recreated", attempt: 1, keepsSlot: true });
  deepEqual([machines.recreated, machines.retries], [1, [1]]);
  const left = slots.reservedUntil - Date.now();
  ok(left > 290_000 && left <= 300_000, `The slot is reserved for ${left} ms`);
  const joined = { machine: "a", node: "n", image: "i", kubelet: "k", readyAt: 4000 };
  equal(after(running(), taskOf("join"), { is: "Joined", joined }).machines.recreated, 0);
});

Deno.test("apply: FailedForGood keeps no record of a machine that is gone, so that a known good change halts", () => {
  const gone = after(running(), taskOf("join"), { is: "FailedForGood", message: "m", isGone: true });
  deepEqual([gone.machines.failed, gone.machines.booting], [[], {}]);
});

Deno.test("apply: JoinFailed counts a machine as failed once, at its last attempt", () => {
  const event = { is: "JoinFailed", reason: "JoinDeadlineExceeded", message: "m" } as const;
  const rollout = after(running(), taskOf("join"), { ...event, isLast: false });
  equal(rollout.machines.failures, 0);
  after(rollout, taskOf("join"), { ...event, isLast: true }, { ...event, isLast: true });
  deepEqual([rollout.machines.failures, reasonsOf(rollout).length], [1, 3]);
});

Deno.test("apply: FailedForGood records the machine as failed and quarantines its change", () => {
  const rollout = after(running(), taskOf("join"), { is: "FailedForGood", message: "m" });
  deepEqual([rollout.machines.failed, rollout.memory.quarantine.map(({ specHash }) => specHash)], [["a"], ["s"]]);
  deepEqual(reasonsOf(rollout), ["Quarantined", "JoinAttemptsExhausted"]);
});

Deno.test("apply: Dropped does not count a machine of an abandoned change as a failure of the desired change", () => {
  const rollout = after(running(), taskOf("join", "a", "old"), { is: "Dropped" });
  deepEqual([rollout.machines.booting, rollout.machines.failures, rollout.memory.quarantine], [{}, 0, []]);
});

Deno.test("apply: Removed counts a machine of an old template as replaced, and no machine of the desired template", () => {
  const rollout = running();
  rollout.machines.draining["d"] = { since: 1000, templateHash: "new", image: "i", kubelet: "k" };
  for (const machine of ["b", "d"]) after(rollout, taskOf("leave", machine), { is: "Removed", drainedSeconds: 5 });
  const { replaced, replacements } = rollout.records;
  deepEqual([rollout.machines.draining, replaced, replacements[0]?.drainedSeconds], [{}, 1, 5]);
});

Deno.test("apply: SetAside ends the drain of a machine, and lists the machine only once", () => {
  const { machines } = after(running(), taskOf("leave", "b"), { is: "SetAside" }, { is: "SetAside" });
  deepEqual([machines.setAside, machines.draining], [["b"], {}]);
});

Deno.test("apply: Delayed extends the deadlines of the machine and of its task", () => {
  const task = taskOf("join");
  const { machines } = after(running(), task, { is: "Delayed", ms: 50 });
  deepEqual([machines.booting["a"]?.since, task.since, task.until], [1050, 1050, 2050]);
});

Deno.test("apply: WavePassed marks only the wave that was evaluated", () => {
  const passed = [0, 1].map((index) => after(running(), taskOf("gates", "wave 1"), { is: "WavePassed", index }));
  deepEqual(passed.map(({ waves }) => waves.current.passed), [true, false]);
});

Deno.test("apply: records the progress of an update in place for the next run of the chain", () => {
  const boot = { id: "1", until: 9 };
  const rollout = after(
    running(),
    taskOf("update", "c"),
    { is: "DrainBegan", at: 5 },
    { is: "BootOrdering" },
    {
      is: "BootOrdered",
      boot,
    },
    { is: "CameBack" },
    { is: "SoakBegan", until: 7 },
  );
  const marks = { drainSince: 5, isOrdering: true, boot, isBack: true, soakUntil: 7 };
  deepEqual(rollout.machines.updating["c"], { since: 1000, templateHash: "new", image: "i", ...marks });
});

Deno.test("apply: Out keeps the slot of a machine whose update failed, and Ended releases the slot", () => {
  const out = after(running(), taskOf("update", "c"), { is: "Out" });
  const ended = after(running(), taskOf("update", "c"), { is: "Ended" });
  deepEqual([out.machines.updating["c"]?.isOut, ended.machines.updating], [true, {}]);
});

Deno.test("apply: UpdateFailed quarantines the change at maxFailed, and counts only failures of the desired image", () => {
  const event = { is: "UpdateFailed", reason: "UpdateLost", message: "m", at: 5 } as const;
  const rollout = after(running(2), taskOf("update", "c"), event);
  deepEqual([rollout.machines.failures, rollout.memory.quarantine], [1, []]);
  after(rollout, taskOf("update", "c", "old"), event);
  equal(rollout.machines.failures, 1);
  after(rollout, taskOf("update", "c"), event);
  deepEqual([rollout.machines.failures, rollout.memory.quarantine.length], [2, 1]);
});

Deno.test("apply: Updated ends the update of a machine and records it like a join", () => {
  const { machines, records } = after(running(), taskOf("update", "c"), { is: "Updated" });
  deepEqual([machines.updating, machines.lately["c"]?.is, machines.booting["c"]], [{}, "Updated", undefined]);
  deepEqual(records.joins.map(({ machine, image }) => [machine, image]), [["c", "i"]]);
});

Deno.test("fault E14 apply: RepairDropped removes the machine from the repaired machines, so that no new machine is admitted in its place", () => {
  const task = taskOf("repair", "ill");
  const rollout = after(running(), taskOf("repair", "other"), { is: "RepairOrdered" });
  after(rollout, task, { is: "RepairOrdered" });
  deepEqual(rollout.machines.repaired, ["other", "ill"]);
  after(rollout, task, { is: "RepairDropped" });
  deepEqual(rollout.machines.repaired, ["other"]);
});
