import { deepEqual } from "node:assert/strict";
import type { PoolSnapshot } from "../../../../workflows/contracts/mod.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { forgetGone, nextQuestionOf, noteLacks } from "../../../../workflows/steps/see.ts";
import { openRun } from "../../../support/open_run.ts";

function task(subject: string, given: Partial<Task> = {}): Task {
  return {
    ...{ kind: "join", subject, templateHash: "t", step: "Joining", since: 0, until: 1, attempt: 0 },
    ...{ blockers: [], doubt: "" },
    ...given,
  };
}

function lacking(...all: [machine: string, lacks: string][]): PoolSnapshot {
  return { lacking: all.map(([machine, lacks]) => ({ machine, lacks })) } as PoolSnapshot;
}

Deno.test("fault U7 noteLacks: emits one Event for each condition that a machine waits for", () => {
  const running = {
    a: task("a"),
    b: task("b", { kind: "leave", step: "Removing" }),
    c: task("c", { step: "Gates" }),
    d: task("d", { since: Date.now() }),
  };
  const run = openRun({ tasks: { running } });
  const first = lacking(["a", "not Ready (X): one"], ["b", "finalizers remain: f"], ["c", "x"], ["d", "x"], ["e", "x"]);
  for (const snapshot of [first, lacking(["a", "not Ready (X): two"]), lacking(["a", "a taint"])]) {
    noteLacks(run, snapshot);
  }
  deepEqual(run.view.news.map(({ reason, message }) => [reason, message]), [
    ["MachineWaits", 'Machine "a" waits to join: not Ready (X): one'],
    ["MachineWaits", 'Machine "b" waits to be deleted: finalizers remain: f'],
    ["MachineWaits", 'Machine "a" waits to join: a taint'],
  ]);
});

Deno.test("fault E14 forgetGone: forgets a machine that was set aside once it is deleted", () => {
  const run = openRun({
    machines: { setAside: ["a", "b"] },
    people: { skipped: ["c"] },
    target: { desired: { settled: true, replicas: 3 } as never, rules: { budget: { machines: 1 } } as never },
  });
  deepEqual(nextQuestionOf(run)?.named, ["c", "a", "b"]);
  forgetGone(run.machines, { unknown: ["b"] } as PoolSnapshot);
  deepEqual(run.machines.setAside, ["a"]);
});
