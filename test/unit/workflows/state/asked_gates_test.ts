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

Deno.test("noteAskedGates: keeps the gates for the next run of the chain", () => {
  const next = openRun({}, readCarried(JSON.parse(JSON.stringify(carriedState(asking()))) as object, 0));
  deepEqual([askedGatesOf(next, join), askedGatesOf(next, wave)], [asked, asked]);
});

Deno.test("noteAskedGates: records nothing when the change of the machine was abandoned", () => {
  const rollout = asking();
  rollout.machines.booting = {};
  noteAskedGates(rollout, join, asked);
  deepEqual([askedGatesOf(rollout, join), rollout.machines.booting], [null, {}]);
});

Deno.test("postponeIdle, postponeWave: extend only the time of gates without a running task", () => {
  const rollout = asking();
  rollout.tasks.running = { "gates wave 1": wave };
  postponeIdle(rollout.machines, rollout.tasks, 50);
  postponeWave(rollout.waves, rollout.tasks, 50);
  deepEqual(questions(rollout), [1050, 1000]);
  rollout.tasks.running = {};
  postponeWave(rollout.waves, rollout.tasks, 50);
  deepEqual(questions(rollout), [1050, 1050]);
});

Deno.test("retryMachines, takeBack: gates of a machine are evaluated from the start", () => {
  const [retried, left] = [asking(), asking()];
  retryMachines(retried.machines);
  left.machines.dropped = left.machines.booting;
  left.machines.booting = {};
  takeBack(left.machines, "t");
  deepEqual([retried, left].map((rollout) => askedGatesOf(rollout, join)), [null, null]);
});

Deno.test("gatesInDoubt: returns inconclusive gates without promoted ones", () => {
  const rollout = asking();
  equal(gatesInDoubt(rollout).length, 0);
  noteAskedGates(rollout, join, { ...unclear });
  noteAskedGates(rollout, wave, { ...unclear, doubt: "promoted" });
  deepEqual(gatesInDoubt(rollout), [unclear]);
});
