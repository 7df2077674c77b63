import { equal } from "node:assert/strict";
import { commands } from "../../../../workflows/commands/commands.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { type Given, openRun } from "../../../support/open_run.ts";

const { skip } = commands;

function task(given: Pick<Task, "kind" | "subject"> & Partial<Task>): Given {
  const one: Task = {
    ...{ templateHash: "t", step: "Joining", since: 0, until: 1, attempt: 0, blockers: [], doubt: "" },
    ...given,
  };
  return { tasks: { running: { one } } };
}

const busy: Record<string, [given: Given, why: string | undefined]> = {
  "a joining machine replaces": [task({ kind: "join", subject: "b", victim: "a" }), "already marked for removal"],
  "is being updated in place": [task({ kind: "update", subject: "a" }), "already being updated"],
  "is being drained": [
    { machines: { draining: { a: { since: 1, templateHash: "t", image: "i", kubelet: "k" } } } },
    "already being removed",
  ],
  "stages an image": [task({ kind: "stage", subject: "a" }), undefined],
  "itself joins": [task({ kind: "join", subject: "a", victim: "b" }), undefined],
};

for (const [what, [given, why]] of Object.entries(busy)) {
  Deno.test(`skip: ${why ? "refuses" : "accepts"} a machine that ${what}, before a snapshot shows it`, () => {
    equal(skip.refuse(openRun(given), { machine: "a" }), why && `machine "a" is ${why}`);
  });
}
