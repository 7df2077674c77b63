import { deepEqual, equal } from "node:assert/strict";
import {
  askedGatesOf,
  gatesInDoubt,
  noteAskedGates,
  postponeIdle,
  retryMachines,
  takeBack,
} from "../../../../workflows/state/machines.ts";
import { carriedState, readCarried } from "../../../../workflows/state/input.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { postponeWave } from "../../../../workflows/state/waves.ts";
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

Deno.test("noteAskedGates keeps what is asked for the next run of the chain", () => {
  const next = openRun({}, readCarried(JSON.parse(JSON.stringify(carriedState(asking()))) as object, 0));
  deepEqual([askedGatesOf(next, join), askedGatesOf(next, wave)], [asked, asked]);
});

Deno.test("noteAskedGates notes nothing about a machine whose change was left", () => {
  const rollout = asking();
  rollout.machines.booting = {};
  noteAskedGates(rollout, join, asked);
  deepEqual([askedGatesOf(rollout, join), rollout.machines.booting], [null, {}]);
});

Deno.test("gates that nobody asks while nobody can look have their time moved on, and no others", () => {
  const rollout = asking();
  rollout.tasks.running = { "gates wave 1": wave };
  postponeIdle(rollout.machines, rollout.tasks, 50);
  postponeWave(rollout.waves, rollout.tasks, 50);
  deepEqual(questions(rollout), [1050, 1000]);
  rollout.tasks.running = {};
  postponeWave(rollout.waves, rollout.tasks, 50);
  deepEqual(questions(rollout), [1050, 1050]);
});

Deno.test("a machine that is tried again, or taken back, is asked about afresh", () => {
  const [retried, left] = [asking(), asking()];
  retryMachines(retried.machines);
  left.machines.dropped = left.machines.booting;
  left.machines.booting = {};
  takeBack(left.machines, "t");
  deepEqual([retried, left].map((rollout) => askedGatesOf(rollout, join)), [null, null]);
});

Deno.test("gatesInDoubt gives those that could not be judged, and not those that were promoted", () => {
  const rollout = asking();
  equal(gatesInDoubt(rollout, "promoted").length, 0);
  noteAskedGates(rollout, join, { ...unclear });
  noteAskedGates(rollout, wave, { ...unclear, doubt: "promoted" });
  deepEqual(gatesInDoubt(rollout, "promoted"), [unclear]);
});
