import { deepEqual } from "node:assert/strict";
import { delay, startClock, startClocks, stopClocks } from "../../../../workflows/state/clock.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { openRun } from "../../../support/open_run.ts";

const minute = 60_000;

Deno.test("delay: extends the drain of an update in place, and changes no update that does not drain", () => {
  const begun = { since: 1, templateHash: "new", image: "i" };
  const run = openRun({ machines: { updating: { one: { ...begun, drainSince: 5 }, two: begun } } });
  for (const machine of ["one", "two", "three"]) delay(run, machine, 100);
  deepEqual(run.machines.updating, { one: { ...begun, drainSince: 105 }, two: begun });
});

Deno.test("fault E2 startClock: does not count the time in which no task worked on a machine or wave towards its deadline", () => {
  const now = Date.now();
  const [since, stopped] = [now - 10 * minute, now - 8 * minute];
  const gates = { name: "n", since, doubt: "" };
  const run = openRun({
    machines: {
      booting: { a: { since, attempt: 0, gates: { ...gates } } },
      draining: { b: { since, templateHash: "t", image: "i", kubelet: "k" } },
      updating: { c: { since, templateHash: "t", image: "i", boot: { id: "1", until: now + minute } } },
    },
    waves: { gates: { ...gates } },
    tasks: { idle: Object.fromEntries(["a", "b", "c", "wave 1"].map((subject) => [subject, stopped])) },
  });
  const { machines: { booting, draining, updating }, waves } = run;
  for (let times = 0; times < 2; times++) for (const subject of ["a", "b", "c", "wave 1"]) startClock(run, subject);
  const ages = [booting["a"]?.since, booting["a"]?.gates?.since, draining["b"]?.since, waves.gates?.since];
  deepEqual(ages.map((begun) => Math.round((now - (begun ?? 0)) / minute)), [2, 2, 2, 2]);
  deepEqual(Math.round(((updating["c"]?.boot?.until ?? 0) - now) / minute), 9);
});

Deno.test("startClock: does not move the start of a boot into the future when a retry has reset it", () => {
  const now = Date.now();
  const run = openRun({
    machines: { booting: { a: { since: now, attempt: 0 } } },
    tasks: { idle: { a: now - minute } },
  });
  startClock(run, "a");
  deepEqual(Math.round(((run.machines.booting["a"]?.since ?? 0) - now) / minute), 0);
});

Deno.test("fault E2 startClocks: extends the deadlines of machines whose task had stopped, and no others", () => {
  const now = Date.now();
  const boot = { since: now - 10 * minute, attempt: 0 };
  const run = openRun({
    machines: { booting: { a: { ...boot }, b: { ...boot } } },
    tasks: { idle: { a: now - 8 * minute } },
  });
  startClocks(run);
  const ages = Object.values(run.machines.booting).map(({ since }) => Math.round((now - since) / minute));
  deepEqual([ages, run.tasks.idle], [[2, 10], {}]);
});

Deno.test("fault E2 stopClocks: stops the clock of each machine or wave without a task, and does not change the time of a clock that had stopped before", () => {
  const draining = { since: 1, templateHash: "t", image: "i", kubelet: "k" };
  const run = openRun({
    machines: { booting: { a: { since: 1, attempt: 0 } }, draining: { b: draining, c: draining } },
    tasks: { running: { "leave b": { kind: "leave", subject: "b" } as Task }, idle: { c: 5 } },
  });
  stopClocks(run, 7);
  deepEqual(run.tasks.idle, { a: 7, c: 5, "wave 1": 7 });
});
