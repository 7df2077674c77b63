import { deepEqual, equal } from "node:assert/strict";
import { mayMean, watchedPolicies, watchedRollouts } from "../../../workers/watched_facts.ts";

const metadata = { name: "x", namespace: "fleet", uid: "u", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z" };

Deno.test("watchedPolicies: keeps the selector, the conditions, and a version that changes when the policy changes", () => {
  const conditions = [{ type: "KernelDeadlock", status: "True", for: "5m" }];
  const spec = { selector: { matchLabels: { tier: "web" } }, repair: { conditions }, waves: [{ upTo: 1 }] };
  const facts = watchedPolicies.schema.parse({ metadata, spec });
  deepEqual(facts, {
    namespace: "fleet",
    version: "u@3",
    selector: { matchLabels: { tier: "web" } },
    conditions: [{ type: "KernelDeadlock", status: "True" }],
  });
  deepEqual([mayMean(facts, { tier: "web" }), mayMean(facts, { tier: "db" }), mayMean(facts, undefined)], [
    ...[true, false, false],
  ]);
});

Deno.test("mayMean: returns true for every pool when the selector is missing or invalid", () => {
  const specs = [undefined, {}, { selector: "web" }];
  const facts = specs.map((spec) => watchedPolicies.schema.parse({ metadata, spec }));
  deepEqual(facts.map((policy) => mayMean(policy, {})), [true, true, true]);
  equal(facts[2]?.selector, undefined);
});

Deno.test("watchedRollouts: reads a Rollout with an unreadable transition time as if it had none", () => {
  const read = (lastTransitionTime: string | undefined): unknown => {
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
    return watchedRollouts.schema.parse({ metadata, status: { observed: "g2", phase: "Converged", conditions } });
  };
  deepEqual(read("2026-01-01T10:00:00+99:99"), read(undefined));
});
