import assert from "node:assert/strict";
import { ApplicationFailure } from "@temporalio/common";
import { type MachineDeployment, machineDeployments } from "../../../../activities/kube/resources.ts";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { findRules } from "../../../../activities/policy/rules_for.ts";
import type { Rules } from "../../../../workflows/contracts/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { unusable, usable } from "./policy_cases.ts";

const now = Date.parse("2026-06-01T00:00:00Z");

function deployment(labels: Record<string, string> = { tier: "web", stage: "prod" }): MachineDeployment {
  const metadata = { name: "pool", namespace: "fleet", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z", labels };
  return machineDeployments.schema.parse({ metadata, spec: {} });
}

/** Returns the rules of pool "fleet/pool" when these policies exist in `namespace`. */
function rulesAmid(policies: Record<string, unknown>, { namespace = "fleet" } = {}): Promise<Rules> {
  const kube = new FakeKube();
  for (const [name, spec] of Object.entries(policies)) {
    kube.put("rolloutpolicies", { metadata: { name, namespace }, spec });
  }
  return findRules(kube.client, deployment(), now).then(({ rules }) => rules);
}

async function refusalOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await work.then(() => new Error("Expected a refusal"), (error) => error);
  assert.ok(error instanceof ApplicationFailure, String(error));
  return error;
}

const matching = (...keys: ("tier" | "stage")[]): object => {
  const labels = { tier: "web", stage: "prod" };
  return { matchLabels: Object.fromEntries(keys.map((key) => [key, labels[key]])) };
};

Deno.test("findRules: returns the defaults for a pool that no policy of its namespace selects", async () => {
  const other = { other: { selector: { matchLabels: { tier: "db" } }, maxFailed: 5 } };
  assert.deepEqual(await rulesAmid(other), defaultRules);
  assert.deepEqual(await rulesAmid({ elsewhere: { maxFailed: 5 } }, { namespace: "elsewhere" }), defaultRules);
});

Deno.test("findRules: uses the policy with the most requirements in its selector, in any order of names", async () => {
  const policies = {
    a: { maxFailed: 2 },
    b: { selector: { ...matching("tier"), matchExpressions: [{ key: "stage", operator: "Exists" }] }, maxFailed: 4 },
    c: { selector: matching("tier"), maxFailed: 3 },
  };
  const { source, maxFailed } = await rulesAmid(policies);
  assert.deepEqual([source, maxFailed], ["b", 4]);
  assert.equal((await rulesAmid({ a: policies.a, c: policies.c })).source, "c");
  assert.equal((await rulesAmid({ a: policies.a })).source, "a");
});

Deno.test("findRules: reports a tie with the names of both policies, and blocks replacements", async () => {
  const { conflict, source, repair, drain } = await rulesAmid({
    loose: { selector: {}, maxFailed: 9 },
    two: { selector: matching("stage"), repair: { enabled: true } },
    one: { selector: matching("tier"), drain: { localStorage: "Block" } },
  });
  assert.equal(
    conflict,
    'RolloutPolicies "one" and "two" select "fleet/pool" with 1 requirement each; the policy with more requirements would apply',
  );
  assert.deepEqual([source, repair.enabled, drain.localStorage], ["none", false, "Block"]);
});

Deno.test("findRules: ignores a tie among less specific policies", async () => {
  const { conflict, source } = await rulesAmid({ a: {}, b: {}, c: { selector: matching("tier") } });
  assert.deepEqual([conflict, source], [null, "c"]);
});

for (const [what, spec] of Object.entries(usable)) {
  Deno.test(`findRules: applies a policy with ${what}`, async () => {
    // Every case gets a selector that matches the pool, because other tests check selectors.
    const rules = await rulesAmid({ careful: { ...spec as object, selector: {} } });
    assert.equal(rules.source, "careful");
  });
}

for (const [what, [spec, field]] of Object.entries(unusable)) {
  Deno.test(`findRules: blocks replacements for ${what}, and reports policy and field`, async () => {
    const { conflict, source } = await rulesAmid({ careful: spec });
    const message = conflict ?? "";
    assert.equal(source, "none");
    const start = `Failed to read RolloutPolicy "fleet/careful": ${field}`;
    assert.ok(message.startsWith(`${start}:`) || message.startsWith(`${start} is `), message);
    assert.doesNotMatch(message, /hunter2/);
  });
}

Deno.test("findRules: quotes the refused value", async () => {
  const { conflict } = await rulesAmid({ careful: { waves: [{ upTo: 5 }, { upTo: 3 }] } });
  assert.equal(
    conflict,
    'Failed to read RolloutPolicy "fleet/careful": spec.waves.1.upTo is 3: must be larger than in the previous waves',
  );
});

Deno.test("findRules: ignores errors in a policy that is not chosen", async () => {
  const broken = { onFailure: "Explode" };
  const chosen = { selector: matching("tier") };
  assert.equal((await rulesAmid({ broken, chosen })).source, "chosen");
  assert.match((await rulesAmid({ broken })).conflict ?? "", /^Failed to read RolloutPolicy "fleet\/broken"/);
});

Deno.test("findRules: fails as a retryable ApiUnavailable when the API server answers 503", async () => {
  const kube = new FakeKube();
  kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  const { type, nonRetryable } = await refusalOf(findRules(kube.client, deployment(), now));
  assert.deepEqual([type, nonRetryable], ["ApiUnavailable", false]);
});
