import assert from "node:assert/strict";
import { type DemoReport, demoReport, type Findings } from "../../../../deploy/local/demo/demo_report.ts";
import { endingOf } from "../../../../deploy/local/demo/ending.ts";
import { finalText } from "../../../../deploy/local/demo/final_table.ts";
import { Interruption } from "../../../../deploy/local/demo/interruption.ts";
import type { ObserverReport } from "../../../../deploy/local/observer/observer_report.ts";
import type { RollOutResult } from "../../../../workflows/contracts/mod.ts";

const old = { image: "docker://ostler.example/ubuntu:24.04-1", kubelet: "v1.35.3" };
const young = { image: "docker://ostler.example/ubuntu:24.04-2", kubelet: "v1.36.1" };

const creation: RollOutResult = {
  outcome: "Converged",
  replaced: 0,
  joins: [{ machine: "a", node: "a", ...old, joinedSeconds: 4.2 }],
  replacements: [],
};
const change: RollOutResult = {
  outcome: "Converged",
  replaced: 1,
  joins: [{ machine: "b", node: "b", ...young, joinedSeconds: 5 }],
  replacements: [{ machine: "a", replacedBy: "b", ...old, drainedSeconds: 1.5 }],
};

function observed(overrides: Partial<ObserverReport> = {}): ObserverReport {
  return {
    ok: true,
    armedAt: "2026-01-01T00:00:00Z",
    readyNodes: { min: 1, wanted: 1, ok: true },
    machines: { max: 2, objects: 2, allowed: 2, ok: true },
    secrets: { watched: ["s"], missing: 0, ok: true },
    gaps: [],
    resumes: 0,
    events: 9,
    violations: [],
    lives: [],
    ...overrides,
  };
}

function report(overrides: Partial<Findings> = {}): DemoReport {
  return demoReport({
    seed: 7,
    replicas: 1,
    durations: { tools: 0.1, stack: 10, create: 20, roll: 30 },
    results: [creation, change],
    observed: observed(),
    updated: 1,
    workerKilled: true,
    webUi: "http://127.0.0.1:1",
    ...overrides,
  });
}

Deno.test("demoReport: shows how long each machine took to join and to drain, and which machine replaced it", () => {
  assert.deepEqual(report().machines, [
    { machine: "a", ...old, joinedSeconds: 4.2, drainedSeconds: 1.5, replacedBy: "b" },
    { machine: "b", ...young, joinedSeconds: 5, drainedSeconds: null, replacedBy: null },
  ]);
});

Deno.test("demoReport: is successful only when every promise was kept and everything was observed", () => {
  const violation = { at: "t", property: "secrets", message: "Secret gone", names: ["s"] } as const;
  assert.equal(report().ok, true);
  assert.equal(report({ updated: 0 }).ok, false);
  assert.equal(report({ workerKilled: false }).ok, false);
  assert.equal(report({ observed: observed({ ok: false, gaps: ["nobody looked"] }) }).ok, false);
  const broken = report({ observed: observed({ ok: false, violations: [{ ...violation, names: ["s"] }] }) });
  assert.equal(broken.ok, false);
  assert.match(finalText(broken), /t Secret gone: s/);
});

Deno.test("finalText: shows machines, promises with observations, and the verdict", () => {
  const text = finalText(report());
  for (
    const part of ["ubuntu:24.04-2", "4.2 s", "at least 1 Ready nodes at any time", "maximum 2", "All checks passed"]
  ) {
    assert.ok(text.includes(part), part);
  }
  assert.match(finalText(report({ updated: 0 })), /0 of 1 .*FAILED/);
});

Deno.test("endingOf: returns the exit code of each ending, and keeps logs only of failures", () => {
  const course = { seed: 7, replicas: 1, directory: "/tmp/d", report: undefined, failure: undefined };
  const end = (overrides: object) => {
    const { exitCode, keepsDirectory } = endingOf({ ...course, ...overrides });
    return [exitCode, keepsDirectory];
  };
  const sigint = new Interruption("SIGINT");
  assert.deepEqual(end({ report: report() }), [0, false]);
  assert.deepEqual(end({ report: report({ updated: 0 }) }), [1, true]);
  assert.deepEqual(end({ failure: new Error("crashed") }), [1, true]);
  assert.deepEqual(end({ report: report(), failure: new Error("crashed") }), [1, true]);
  assert.deepEqual(end({ failure: sigint }), [130, false]);
  assert.deepEqual(end({ failure: sigint, report: report() }), [0, false]);
});

Deno.test("endingOf: describes a failure with its causes, as text and as JSON", () => {
  const failure = new Error("Failed to roll", { cause: new Error("no machine joined") });
  const course = { seed: 7, replicas: 1, directory: "/tmp/d", report: undefined, failure };
  const { text, json } = endingOf(course);
  assert.match(text, /^Failed to roll: no machine joined\n.*"\/tmp\/d\/logs"$/);
  const error = "Failed to roll: no machine joined";
  assert.deepEqual(json, { ok: false, seed: 7, replicas: 1, error, directory: "/tmp/d" });
  assert.equal(endingOf({ ...course, report: report() }).json, undefined);
});
