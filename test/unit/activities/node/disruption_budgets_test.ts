import type { V1LabelSelector } from "@kubernetes/client-node";
import { equal } from "node:assert/strict";
import { selects } from "../../../../activities/node/disruption_budgets.ts";

const labels = { app: "web", tier: "front" };

function expression(key: string, operator: string, ...values: string[]): V1LabelSelector {
  return { matchExpressions: [{ key, operator, ...(values.length ? { values } : {}) }] };
}

const selectors: [V1LabelSelector | undefined, boolean][] = [
  [undefined, false],
  [{}, true],
  [{ matchLabels: { app: "web" } }, true],
  [{ matchLabels: { app: "web", tier: "back" } }, false],
  [expression("app", "In", "web", "db"), true],
  [expression("app", "In", "db"), false],
  [expression("other", "In", "web"), false],
  [expression("app", "NotIn", "db"), true],
  [expression("app", "NotIn", "web"), false],
  [expression("other", "NotIn", "web"), true],
  [expression("app", "Exists"), true],
  [expression("other", "Exists"), false],
  [expression("app", "DoesNotExist"), false],
  [expression("other", "DoesNotExist"), true],
  [{ matchLabels: { app: "web" }, ...expression("tier", "In", "back") }, false],
];

for (const [selector, expected] of selectors) {
  const says = expected ? "matches" : "does not match";
  Deno.test(`selects ${says} by ${JSON.stringify(selector) ?? "no selector"}`, () => {
    equal(selects(selector, labels), expected);
  });
}
