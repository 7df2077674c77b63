/** Every field of a RolloutPolicy has a test that depends on the field; this table names those tests. */
import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { defaultInPlace } from "../../../workflows/policy/in_place.ts";
import { defaultRules } from "../../../activities/policy/default_rules.ts";

const workflow = "test/workflow";
const drain = "test/unit/activities/node/drain_test.ts";
const gates = "test/unit/activities/gates";
const policy = "test/unit/activities/policy/rules_of_test.ts";

/** By field of the rules: the tests that depend on the field, each as file and beginning of the test's name. */
const covered: Record<string, [file: string, test: string][]> = {
  source: [[
    `${workflow}/commands_test.ts`,
    "progress: returns each machine in progress with the start and the deadline of its step",
  ]],
  conflict: [[`${workflow}/approval_test.ts`, "conflict: nothing starts while policies conflict"]],
  waves: [
    [
      `${workflow}/waves_test.ts`,
      "waves: a canary soaks before any other machine is replaced, until a person promotes it",
    ],
    [`${workflow}/waves_test.ts`, "waves: a soak ends by itself, and no machine is admitted before its end"],
    [`${workflow}/waves_test.ts`, "waves: a percentage of the pool defines a wave of at least one machine"],
  ],
  growth: [[`${workflow}/waves_test.ts`, "growth: makes each wave larger than the previous one"]],
  "budget.machines": [[
    `${workflow}/budget_test.ts`,
    "budget: replaces three machines concurrently with a budget of 3, and no more",
  ]],
  "budget.perZone": [[`${workflow}/budget_test.ts`, "budget.perZone: replaces no two machines of one zone at once"]],
  "budget.zones": [[
    `${workflow}/budget_test.ts`,
    "budget.zones: OneAfterAnother finishes one zone before it begins the next",
  ]],
  "budget.cluster": [[`${workflow}/budget_test.ts`, "budget.cluster: is shared by all pools"]],
  "budget.urgency": [[
    "test/unit/activities/pool/slots_test.ts",
    "fault E8: ensureSlotTaken: a more urgent pool comes first",
  ]],
  windows: [
    [
      `${workflow}/windows_test.ts`,
      "windows: no replacement starts outside a window, and the status shows when the next window opens",
    ],
    [
      `${workflow}/windows_test.ts`,
      "windows: a replacement does not start when its typical duration exceeds the rest of the window",
    ],
  ],
  "join.instance": [[`${workflow}/roll_back_test.ts`, "join.${joinStage}: is the deadline of that join stage"]],
  "join.address": [[`${workflow}/roll_back_test.ts`, "join.${joinStage}: is the deadline of that join stage"]],
  "join.registered": [[`${workflow}/roll_back_test.ts`, "join.${joinStage}: is the deadline of that join stage"]],
  "join.ready": [[`${workflow}/roll_back_test.ts`, "join.${joinStage}: is the deadline of that join stage"]],
  "join.gates": [[`${workflow}/gates_test.ts`, "join.gates: limits the time of a machine"]],
  "join.attempts": [[`${workflow}/roll_back_test.ts`, "join.attempts: is how often a machine is recreated"]],
  "drain.timeout": [[`${workflow}/drain_test.ts`, "drain: the timeout may change during a drain"]],
  "drain.onBlocked": [
    [`${workflow}/drain_test.ts`, "drain: Wait continues to wait after the timeout, and releases no machine"],
    [`${workflow}/drain_test.ts`, "drain: SetAside sets a machine aside after the timeout, and replaces the others"],
    [`${workflow}/drain_test.ts`, "drain: Force deletes the pods that remain after the timeout"],
  ],
  "drain.localStorage": [
    [drain, "Drain: evicts a pod with local storage by default"],
    [`${workflow}/drain_test.ts`, "drain: order and localStorage of the policy reach the drain"],
  ],
  "drain.order": [
    [drain, "Drain: evicts pods of all priorities together"],
    [`${workflow}/drain_test.ts`, "drain: order and localStorage of the policy reach the drain"],
  ],
  gates: [
    [
      `${workflow}/gates_test.ts`,
      "gates: EachMachine is evaluated for every new machine before an old one is replaced",
    ],
    [`${workflow}/gates_test.ts`, "gates: a failed EachWave gate halts the rollout"],
    [`${workflow}/gates_test.ts`, "gates: an inconclusive gate waits for a person, who promotes it"],
    [`${gates}/checks_test.ts`, "lookAtNodeCondition: checks the machine's own node"],
    [`${gates}/checks_test.ts`, "lookAtDaemonSets: requires a Ready pod"],
    [`${gates}/checks_test.ts`, "lookAtPods: requires a minimum"],
    [`${gates}/prometheus_test.ts`, "lookAtPrometheus: requires enough samples"],
    [`${gates}/job_test.ts`, "lookAtJob: makes one Job"],
  ],
  onFailure: [[
    `${workflow}/roll_back_test.ts`,
    "onFailure: Rollback returns to the last good template, and reports actor and reason",
  ]],
  maxFailed: [[
    `${workflow}/roll_back_test.ts`,
    "maxFailed: allows single machines to fail before the change is given up",
  ]],
  onProfileChange: [
    [`${workflow}/change_test.ts`, "onProfileChange: Roll makes a changed profile a rollout like any other"],
    [
      `${workflow}/change_test.ts`,
      "onProfileChange: NewMachinesOnly publishes a changed profile and replaces no machine",
    ],
  ],
  onImageChange: [
    [
      `${workflow}/keep_machines_test.ts`,
      "onImageChange: InPlace replaces no machine for a new image, and Ostler checks before any step whether machines can stay",
    ],
    [
      `${workflow}/keep_machines_test.ts`,
      "onImageChange: ReplaceIfRefused replaces machines that cannot stay, and reports the cause once",
    ],
  ],
  onNewChange: [
    [
      `${workflow}/change_test.ts`,
      "onNewChange: Finish completes machines of the earlier change before it begins the newer one",
    ],
    [
      `${workflow}/change_test.ts`,
      "onNewChange: Supersede drops the machines in progress of the earlier change, and begins the newer one at once",
    ],
  ],
  approval: [
    [
      `${workflow}/approval_test.ts`,
      "approval: with BeforeFirst, nothing starts before the current plan is approved, and the approval of another plan is refused",
    ],
    [`${workflow}/approval_test.ts`, "approval: BeforeEachWave requires it again before each wave"],
  ],
  "inPlace.stageAtOnce": [[
    `${workflow}/in_place_policy_test.ts`,
    "inPlace.stageAtOnce: limits how many nodes fetch an image concurrently",
  ]],
  "inPlace.stage": [[`${workflow}/in_place_policy_test.ts`, "inPlace.stage: is the deadline of a download"]],
  "inPlace.boot": [[
    `${workflow}/in_place_policy_test.ts`,
    "inPlace.boot: limits how long a node may take to return from its reboot",
  ]],
  "inPlace.soak": [[
    `${workflow}/in_place_policy_test.ts`,
    "inPlace.soak: sets how long a rebooted node is watched before it is uncordoned",
  ]],
  "etcd.snapshot": [
    [policy, "rulesOf: returns no field etcd when no snapshots"],
    [policy, "rulesOf: keeps snapshots of etcd in a folder"],
    [policy, "rulesOf: keeps snapshots of etcd at a URL"],
  ],
  "repair.enabled": [[`${workflow}/repair_test.ts`, "repair.enabled: false leaves unhealthy machines alone"]],
  "repair.notReadyFor": [[`${workflow}/repair_test.ts`, "repair.notReadyFor: is how long a machine may be NotReady"]],
  "repair.conditions": [[
    `${workflow}/repair_test.ts`,
    "repair.conditions: names further conditions; a machine with one of them is drained before it is deleted",
  ]],
  "repair.maxUnhealthy": [[
    `${workflow}/repair_test.ts`,
    "repair.maxUnhealthy: stops all repairs when too many are unhealthy at once",
  ]],
};

function fieldsOf(value: object, prefix = ""): string[] {
  return Object.entries(value).flatMap(([field, inner]: [string, unknown]) => {
    const isGroup = typeof inner === "object" && inner !== null && !Array.isArray(inner);
    return isGroup ? fieldsOf(inner, `${prefix}${field}.`) : [prefix + field];
  });
}

Deno.test("policy fields: each has a test that depends on the field", () => {
  deepEqual(
    Object.keys(covered).sort(),
    fieldsOf({
      ...defaultRules,
      budget: { ...defaultRules.budget, urgency: "Normal" },
      inPlace: defaultInPlace,
      onImageChange: "Replace",
      etcd: { snapshot: null },
    }).sort(),
  );
});

Deno.test("policy fields: each test that the table names exists", () => {
  const root = new URL("../../../", import.meta.url);
  for (const [field, tests] of Object.entries(covered)) {
    for (const [file, test] of tests) {
      const text = readFileSync(new URL(file, root), "utf8");
      ok(
        new RegExp(`["\`]${test.replaceAll(/[.$\{}]/g, "\\$&")}`).test(text),
        `${field}: ${file} has no test "${test}"`,
      );
    }
  }
});
