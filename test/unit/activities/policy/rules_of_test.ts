import assert from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { RolloutPolicySpec } from "../../../../activities/policy/rollout_policy.ts";
import { rulesOf } from "../../../../activities/policy/rules_of.ts";
import type { Check, Rules } from "../../../../workflows/contracts/mod.ts";

const minute = 60_000;

function rules(spec: unknown): Rules {
  return rulesOf({ name: "careful", namespace: "fleet", spec: RolloutPolicySpec.parse(spec) }, 0);
}

function checkOf(gate: object): Check | undefined {
  return rules({ gates: [{ name: "gate", ...gate }] }).gates[0]?.check;
}

Deno.test("rulesOf: returns the defaults for every missing field", () => {
  assert.deepEqual(rules({}), { ...defaultRules, source: "careful" });
  const empty = { budget: {}, join: {}, drain: {}, gates: [], repair: {} };
  assert.deepEqual(rules(empty), { ...defaultRules, source: "careful" });
});

Deno.test("rulesOf: copies every plain field", () => {
  const plain = {
    budget: { machines: "10%", perZone: 2, zones: "OneAfterAnother", cluster: 5 },
    ...{ onFailure: "Rollback", maxFailed: 3, onProfileChange: "Roll", onNewChange: "Finish" },
    approval: "BeforeEachWave",
  };
  const { budget, onFailure, maxFailed, onProfileChange, onNewChange, approval } = rules(plain);
  assert.deepEqual({ budget, onFailure, maxFailed, onProfileChange, onNewChange, approval }, plain);
});

Deno.test("rulesOf: adds a last wave of all machines when it is missing", () => {
  const all = { upTo: "100%", soak: 0 };
  assert.deepEqual(rules({ waves: [{ upTo: 1, soak: "5m" }] }).waves, [{ upTo: 1, soak: 5 * minute }, all]);
  assert.deepEqual(rules({ waves: [{ upTo: "100%", soak: "1m" }] }).waves, [{ upTo: "100%", soak: minute }]);
});

Deno.test("rulesOf: growth begins by default with one machine, and doubles with each wave", () => {
  assert.deepEqual(rules({ growth: {} }).growth, { from: 1, factor: 2, soak: 0 });
  assert.deepEqual(rules({ growth: { from: 3, factor: 1.5, soak: "90s" } }).growth, {
    ...{ from: 3, factor: 1.5, soak: 1.5 * minute },
  });
});

Deno.test("rulesOf: returns durations in milliseconds, and the defaults for missing fields", () => {
  assert.deepEqual(rules({ join: { ready: "1h30m", attempts: 0 } }).join, {
    ...{ ...defaultRules.join, ready: 90 * minute, attempts: 0 },
  });
  assert.deepEqual(rules({ drain: { timeout: "45s", order: "AllAtOnce" } }).drain, {
    ...{ timeout: 45_000, onBlocked: "Wait", localStorage: "Delete", order: "AllAtOnce" },
  });
});

Deno.test("rulesOf: returns null as the windows of a policy without windows, and otherwise the intervals in which windows are open", () => {
  assert.equal(rules({}).windows, null);
  const [first] = rules({ windows: [{ cron: "0 2 * * *", duration: "1h" }] }).windows ?? [];
  assert.deepEqual(first, { from: 120 * minute, to: 180 * minute });
});

Deno.test("rulesOf: uses notReadyFor as the duration of a repair condition that sets no duration", () => {
  const conditions = [{ type: "A", status: "True" }, { type: "B", status: "Unknown", for: "1m" }];
  assert.deepEqual(rules({ repair: { notReadyFor: "20m", conditions, maxUnhealthy: "25%" } }).repair, {
    enabled: true,
    notReadyFor: 20 * minute,
    conditions: [{ type: "A", status: "True", for: 20 * minute }, { type: "B", status: "Unknown", for: minute }],
    maxUnhealthy: 25,
  });
});

Deno.test("rulesOf: runs a gate after each machine, for at most ten minutes, by default", () => {
  const [usual, own] = rules({
    gates: [{ name: "a", daemonSets: {} }, { name: "b", run: "EachWave", within: "1m", daemonSets: {} }],
  }).gates;
  assert.deepEqual([usual?.run, usual?.within], ["EachMachine", 10 * minute]);
  assert.deepEqual([own?.run, own?.within], ["EachWave", minute]);
});

Deno.test("rulesOf: reads each kind of check; pods and CronJobs are by default in the policy's namespace", () => {
  assert.deepEqual(checkOf({ nodeCondition: { type: "X" } }), { kind: "NodeCondition", type: "X", status: "True" });
  assert.deepEqual(checkOf({ daemonSets: {} }), { kind: "DaemonSets", namespace: null, selector: "" });
  assert.deepEqual(checkOf({ pods: { selector: { matchLabels: { app: "web", tier: "a" } } } }), {
    ...{ kind: "Pods", namespace: "fleet", selector: "app=web,tier=a", min: 1 },
  });
  assert.deepEqual(checkOf({ job: { cronJob: "smoke" } }), { kind: "Job", namespace: "fleet", cronJob: "smoke" });
  assert.deepEqual(checkOf({ job: { cronJob: "smoke", namespace: "tests" } }), {
    ...{ kind: "Job", namespace: "tests", cronJob: "smoke" },
  });
});

Deno.test("rulesOf: requires at least one sample when a samples query is given, and none without that query", () => {
  const prometheus = { url: "http://p", query: "up", operator: ">=", threshold: 0.5 };
  const check = { kind: "Prometheus", ...prometheus };
  assert.deepEqual(checkOf({ prometheus }), { ...check, samples: null, minSamples: 0 });
  assert.deepEqual(checkOf({ prometheus: { ...prometheus, samples: "n" } }), { ...check, samples: "n", minSamples: 1 });
});

Deno.test("rulesOf: returns no field etcd when no snapshots are configured, like earlier versions", () => {
  for (const snapshot of [undefined, {}, { keep: "None" }]) {
    assert.equal("etcd" in rules({ etcd: { snapshot } }), false);
  }
});

Deno.test("rulesOf: keeps snapshots of etcd in a folder", () => {
  const snapshot = { keep: "Folder", folder: "/var/backups/etcd" };
  assert.deepEqual(rules({ etcd: { snapshot } }).etcd, { snapshot });
});

Deno.test("rulesOf: keeps snapshots of etcd at a URL, with a token of the policy's namespace", () => {
  const snapshot = { keep: "Url", url: "https://backups/etcd" };
  const withToken = (tokenSecret: object): unknown => rules({ etcd: { snapshot: { ...snapshot, tokenSecret } } }).etcd;
  const token = { namespace: "fleet", name: "store", key: "token" };
  assert.deepEqual(rules({ etcd: { snapshot } }).etcd, { snapshot });
  assert.deepEqual(withToken({ name: "store" }), { snapshot: { ...snapshot, token } });
  assert.deepEqual(withToken({ name: "store", key: "put" }), {
    snapshot: { ...snapshot, token: { ...token, key: "put" } },
  });
});
