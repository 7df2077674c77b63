import assert from "node:assert/strict";
import { Checklist } from "../../../../../deploy/local/demo/stories/checklist.ts";
import { observerChecks, type StoryReport, storyText } from "../../../../../deploy/local/demo/stories/story_report.ts";

function checklist(): { checks: Checklist; said: string[] } {
  const said: string[] = [];
  return { checks: new Checklist({ say: (text) => void said.push(text) }), said };
}

Deno.test("Checklist.equal: passes a check only when both values are equal, and otherwise shows both", () => {
  const { checks, said } = checklist();
  checks.equal("machines lost", { seen: [], wanted: [] });
  checks.equal("image", { seen: "img:2", wanted: "img:1" });
  checks.equal("plan", { seen: undefined, wanted: "abc" });
  assert.deepEqual(checks.all.map(({ ok, detail }) => [ok, detail]), [
    [true, "[]"],
    [false, "img:2, not img:1"],
    [false, "nothing, not abc"],
  ]);
  assert.deepEqual(said[1], "  ✗ image: img:2, not img:1");
});

Deno.test("storyText: lists every check with its result, and counts the failed checks", () => {
  const report: StoryReport = {
    ...{ ok: false, story: "pdb", seed: 1, replicas: 3, seconds: 12.34, webUi: "", gaps: ["nobody looked"] },
    violations: [{ at: "t", property: "machines", message: "There were 5 machines", names: ["a"] }],
    checks: [{ name: "kept", ok: true, detail: "yes" }, { name: "broken", ok: false, detail: "x".repeat(200) }],
  };
  const text = storyText(report);
  assert.match(text, /✓ │ kept +│ yes/);
  assert.match(text, /✗ │ broken +│ x{99}…/);
  assert.match(text, /t There were 5 machines: a\nnobody looked\nStory "pdb": 1 of 2 checks FAILED \(12.3 s\)$/);
  assert.match(storyText({ ...report, ok: true }), /All checks passed \(12.3 s\)$/);
});

Deno.test("observerChecks: turns each result of the observer into a check, and a gap in a watch into a failed check", () => {
  const observed = {
    ...{ ok: false, armedAt: "t", resumes: 0, events: 1, violations: [], lives: [], gaps: ["g"] },
    readyNodes: { min: 2, wanted: 3, ok: false },
    machines: { max: 3, objects: 4, allowed: 4, ok: true },
    secrets: { watched: [], missing: 0, ok: true },
  };
  assert.deepEqual(observerChecks(observed).map(({ name, ok, detail }) => `${ok} ${name}: ${detail}`), [
    "false at least 3 Ready nodes at any time: minimum 2",
    "true at most 4 machines at any time: maximum 4",
    "true all secrets exist at any time: missing 0 times",
    "false the observer saw every change: 1 gaps",
  ]);
});
