import { deepEqual, equal } from "node:assert/strict";
import {
  askedGatesOf,
  gatesInDoubt,
  noteAskedGates,
  retryMachines,
  takeBack,
} from "../../../../workflows/state/machines.ts";
import { startClock } from "../../../../workflows/state/clock.ts";
import { carriedState, readCarried } from "../../../../workflows/state/input.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { openRun } from "../../../support/open_run.ts";

const asked = { name: "n", since: 1000, doubt: "" };
const unclear = { name: "n", since: null, doubt: "no samples" };

function taskOf(kind: Task["kind"], subject: string): Task {
  return { kind, subject, templateHash: "t", step: "Gates", since: 0, until: 0, attempt: 0, blockers: [], doubt: "" };
}

const [join, wave] = [taskOf("join", "a"), taskOf("gates", "wave 1")];

function asking(): Rollout {
  const rollout = openRun({ machines: { booting: { a: { since: 500, attempt: 0, templateHash: "t" } } } });
  for (const task of [join, wave]) noteAskedGates(rollout, task, { ...asked });
  return rollout;
}

function questions(rollout: Rollout): unknown[] {
  return [join, wave].map((task) => askedGatesOf(rollout, task)?.since);
}

Deno.test("noteAskedGates: keeps the evaluation of gates for the next run of the chain", () => {
  const next = openRun({}, readCarried(JSON.parse(JSON.stringify(carriedState(asking()))) as object, 0));
  deepEqual([askedGatesOf(next, join), askedGatesOf(next, wave)], [asked, asked]);
});

Deno.test("noteAskedGates: records nothing when the change of the machine was abandoned", () => {
  const rollout = asking();
  rollout.machines.booting = {};
  noteAskedGates(rollout, join, asked);
  deepEqual([askedGatesOf(rollout, join), rollout.machines.booting], [null, {}]);
});

Deno.test("startClock: extends the deadline only of gates whose evaluation had stopped", () => {
  const rollout = asking();
  rollout.tasks.idle = { a: Date.now() - 50 };
  for (const { subject } of [join, wave]) startClock(rollout, subject);
  const [joinSince, waveSince] = questions(rollout) as [number, number];
  deepEqual([joinSince >= 1050, waveSince], [true, 1000]);
  rollout.tasks.idle = { "wave 1": Date.now() - 50 };
  startClock(rollout, "wave 1");
  deepEqual(Number(questions(rollout)[1]) >= 1050, true);
});

Deno.test("retryMachines, takeBack: restart the evaluation of the gates of a machine", () => {
  const [retried, left] = [asking(), asking()];
  retryMachines(retried.machines);
  left.machines.dropped = left.machines.booting;
  left.machines.booting = {};
  takeBack(left.machines, "t");
  deepEqual([retried, left].map((rollout) => askedGatesOf(rollout, join)), [null, null]);
});

Deno.test("gatesInDoubt: returns inconclusive gates, except promoted gates", () => {
  const rollout = asking();
  equal(gatesInDoubt(rollout).length, 0);
  noteAskedGates(rollout, join, { ...unclear });
  noteAskedGates(rollout, wave, { ...unclear, doubt: "promoted" });
  deepEqual(gatesInDoubt(rollout), [unclear]);
});
