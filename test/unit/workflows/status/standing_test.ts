import { deepEqual, equal, match } from "node:assert/strict";
import type { PoolSnapshot } from "../../../../workflows/contracts/mod.ts";
import type { Blocked, Turn } from "../../../../workflows/policy/turn.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import type { Task } from "../../../../workflows/state/tasks.ts";
import { activePhase, standingOf, underway } from "../../../../workflows/status/describe.ts";
import { openRun } from "../../../support/open_run.ts";
import type { Given } from "../../../support/open_run.ts";

function rollout(given: Given = {}): Rollout {
  return openRun({ waves: { rolled: true }, ...given });
}

function task(subject: string, given: Partial<Task> = {}): Task {
  return {
    kind: "join",
    subject,
    templateHash: "t",
    step: "Joining",
    since: 0,
    until: 100,
    attempt: 0,
    blockers: [],
    doubt: "",
    ...given,
  };
}

const idle: Turn = {
  ...{ steps: [], wave: { index: 0, soakUntil: null, passed: false, approved: false }, blocked: null },
  ...{ converged: false, waitsFor: "machine-controller to create a machine", lookAgainAt: null },
};

function blockedBy(reason: Blocked["reason"], until: number | null = null): Given {
  return { view: { blocked: { reason, message: "because", until } } };
}

Deno.test("standingOf: names the running steps, the soonest deadline, and three of many machines", () => {
  const tasks = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, task(name)]));
  tasks["e"] = task("e", { kind: "leave", step: "Draining", until: 50 });
  const { phase, message, until } = standingOf(rollout({ tasks: { running: tasks } }), idle);
  deepEqual([phase, until], ["Rolling", 50]);
  equal(message, "Joining a, b, c and 1 more; Draining e");
});

const lacks = 'node "n" is Ready, but taint "node.kubernetes.io/not-ready" keeps pods off it';

Deno.test("fault U7 standingOf, underway: report what a machine waits for", () => {
  const snapshot = { lacking: [{ machine: "b", lacks }] } as PoolSnapshot;
  const run = rollout({ machines: { snapshot }, tasks: { running: { a: task("a"), b: task("b") } } });
  equal(standingOf(run, idle).message, `Joining a, b; b waits: ${lacks}`);
  deepEqual(underway(run).map(({ machine, waitsFor }) => [machine, waitsFor]), [["a", undefined], ["b", lacks]]);
});

Deno.test("fault U7 underway: names the gates and the etcd checks that a step waits for", () => {
  const gates = [{ name: "g", run: "EachMachine" }, { name: "w", run: "EachWave" }];
  const running = {
    a: task("a", { step: "Gates" }),
    b: task("b", { kind: "leave", step: "Relieving", etcdDoubts: ["no quorum"] }),
    c: task("wave 1", { kind: "gates", step: "Gates", doubt: "not measured" }),
  };
  const run = rollout({ target: { rules: { gates } as never }, tasks: { running } });
  deepEqual(underway(run).map(({ waitsFor }) => waitsFor), ['gate "g" to pass', "no quorum", "not measured"]);
});

Deno.test("standingOf: shows a blocked drain instead of the running steps", () => {
  const blockers = [
    {
      pod: "default/web-1",
      owner: "Deployment default/web",
      why: "PodDisruptionBudget default/web allows 0 disruptions",
    },
    { pod: "default/web-2", owner: "Deployment default/web", why: "the same" },
  ];
  const drain = task("m-1", { kind: "leave", step: "Draining", node: "n-1", blockers });
  const { reason, message } = standingOf(rollout({ tasks: { running: { a: task("m-2"), b: drain } } }), idle);
  equal(reason, "PodsRemaining");
  match(
    message,
    /^Draining machine "m-1" on node "n-1": waiting for pod "default\/web-1" of Deployment .* \(PodDis.*\) and 1 more$/,
  );
});

Deno.test("standingOf: names only the pod when a blocking pod does not have an owner", () => {
  const blockers = [{ pod: "default/bare", owner: "", why: "node unreachable" }];
  const drain = task("m-1", { kind: "leave", step: "Draining", node: "n-1", blockers });
  equal(
    standingOf(rollout({ tasks: { running: { a: drain } } }), idle).message,
    'Draining machine "m-1" on node "n-1": waiting for pod "default/bare" (node unreachable)',
  );
});

Deno.test("standingOf: halts only when a person must act", () => {
  equal(standingOf(rollout(blockedBy("PolicyConflict")), idle).phase, "Halted");
  equal(standingOf(rollout(blockedBy("Quarantined")), idle).phase, "Halted");
  const window = standingOf(rollout(blockedBy("OutsideWindow", 70)), idle);
  deepEqual(window, { phase: "Rolling", reason: "OutsideWindow", message: "because", until: 70 });
  const doubtful = { a: task("m-1", { step: "Gates", doubt: 'gate "web" is inconclusive: no samples' }) };
  const { phase, reason } = standingOf(rollout({ tasks: { running: doubtful } }), idle);
  deepEqual([phase, reason], ["Halted", "GateInconclusive"]);
});

Deno.test("standingOf: returns what the run waits for when no task is running", () => {
  const { reason, message, until } = standingOf(rollout(), { ...idle, lookAgainAt: 9 });
  deepEqual([reason, message, until], ["Settling", "Waiting for machine-controller to create a machine", 9]);
});

Deno.test("activePhase: distinguishes a rollout from scaling and repair", () => {
  const counts = { ill: 1 } as PoolSnapshot["counts"];
  equal(activePhase(rollout()), "Rolling");
  equal(activePhase(rollout({ waves: {} })), "Creating");
  equal(activePhase(rollout({ waves: {}, machines: { snapshot: { counts } as PoolSnapshot } })), "Repairing");
});
