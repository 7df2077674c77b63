import assert from "node:assert/strict";
import { requirementsOf, selectorText, selects } from "../../../../activities/kube/status.ts";
import { LabelSelector } from "../../../../activities/policy/label_selector.ts";

function selector(matchLabels: Record<string, string>, ...expressions: [string, string, string[]?][]): LabelSelector {
  const matchExpressions = expressions.map(([key, operator, values]) => ({ key, operator, ...(values && { values }) }));
  return LabelSelector.parse({ matchLabels, matchExpressions });
}

Deno.test("selects: an empty selector matches everything", () => {
  assert.ok(selects({}, undefined));
  assert.equal(requirementsOf({}), 0);
});

Deno.test("selects: requires all labels and all expressions", () => {
  const strict = selector({ tier: "web" }, ["stage", "In", ["prod", "test"]]);
  assert.equal(requirementsOf(strict), 2);
  assert.ok(selects(strict, { tier: "web", stage: "test", other: "x" }));
  assert.ok(!selects(strict, { tier: "web", stage: "dev" }));
  assert.ok(!selects(strict, { stage: "prod" }));
});

Deno.test("selects: an object without the label is not In anything", () => {
  assert.ok(!selects(selector({}, ["a", "In", ["1"]]), {}));
  assert.ok(selects(selector({}, ["a", "NotIn", ["1"]]), {}));
  assert.ok(!selects(selector({}, ["a", "NotIn", ["1"]]), { a: "1" }));
});

Deno.test("selects: detects whether a label exists, even with an empty value", () => {
  assert.deepEqual([selects(selector({}, ["a", "Exists"]), { a: "" }), selects(selector({}, ["a", "Exists"]), {})], [
    ...[true, false],
  ]);
  assert.deepEqual([
    selects(selector({}, ["a", "DoesNotExist"]), {}),
    selects(selector({}, ["a", "DoesNotExist"]), { a: "" }),
  ], [
    ...[true, false],
  ]);
});

Deno.test("selectorText: writes a selector in the syntax of the API server's labelSelector parameter", () => {
  const all = selector({ app: "web" }, ["a", "In", ["1", "2"]], ["b", "NotIn", ["3"]], ["c", "Exists"], [
    "d",
    "DoesNotExist",
  ]);
  assert.equal(selectorText(all), "app=web,a in (1,2),b notin (3),c,!d");
  assert.equal(selectorText({}), "");
});
