import type { V1LabelSelector } from "@kubernetes/client-node";
import { deepEqual } from "node:assert/strict";
import { DisruptionBudgets } from "../../../../activities/node/disruption_budgets.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

function expression(key: string, operator: string, ...values: string[]): V1LabelSelector {
  return { matchExpressions: [{ key, operator, ...(values.length ? { values } : {}) }] };
}

const selectors: [V1LabelSelector | undefined, boolean][] = [
  [undefined, false],
  [{}, true],
  [{ matchLabels: { app: "web" } }, true],
  [{ matchLabels: { app: "web", tier: "back" } }, false],
  [expression("app", "In", "web", "db"), true],
  [expression("other", "NotIn", "web"), true],
  [expression("app", "DoesNotExist"), false],
  [expression("app", "Unheard"), false],
  [{ matchLabels: { app: "web" }, ...expression("tier", "In", "back") }, false],
];

for (const [selector, expected] of selectors) {
  const verb = expected ? "matches" : "does not match";
  Deno.test(`DisruptionBudgets: ${verb} a PodDisruptionBudget that selects by ${JSON.stringify(selector) ?? "nothing at all"}`, async () => {
    const kube = new FakeKube();
    kube.put("poddisruptionbudgets", {
      metadata: { namespace: "apps", name: "own" },
      spec: selector ? { selector } : {},
    });
    const pod = { metadata: { namespace: "apps", name: "web-1", labels: { app: "web", tier: "front" } } };
    const budgets = await new DisruptionBudgets(kube.client).of(pod, 0);
    deepEqual(budgets.map(({ metadata }) => metadata?.name), expected ? ["own"] : []);
  });
}
