/** Every field of a RolloutPolicy has a test that depends on the field; this table names those tests. */
import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { defaultInPlace } from "../../../workflows/policy/in_place.ts";
import { defaultRules } from "../../../activities/policy/default_rules.ts";

const workflow = "test/workflow";
const drain = "test/unit/activities/node/drain_test.ts";
const gates = "test/unit/activities/gates";
const policy = "test/unit/activities/policy/rules_of_test.ts";

/** By field of the rules: the file, and the beginning of the name of the test. */
const covered: Record<string, [file: string, test: string][]> = {
  source: [[`${workflow}/commands_test.ts`, "progress tells what is under way"]],
  conflict: [[`${workflow}/approval_test.ts`, "a conflict of policies starts nothing"]],
  waves: [
    [`${workflow}/waves_test.ts`, "a canary soaks before any other machine is replaced"],
    [`${workflow}/waves_test.ts`, "a soak ends by itself"],
    [`${workflow}/waves_test.ts`, "a share of the pool is a wave too"],
  ],
  growth: [[`${workflow}/waves_test.ts`, "growth makes each wave larger"]],
  "budget.machines": [[`${workflow}/budget_test.ts`, "a budget of three replaces three machines side by side"]],
  "budget.perZone": [[`${workflow}/budget_test.ts`, "perZone keeps two victims out of one zone"]],
  "budget.zones": [[`${workflow}/budget_test.ts`, "OneAfterAnother ends with one zone"]],
  "budget.cluster": [[`${workflow}/budget_test.ts`, "a budget of the cluster is shared by all pools"]],
  windows: [
    [`${workflow}/windows_test.ts`, "nothing starts outside a window"],
    [`${workflow}/windows_test.ts`, "a machine is not started when its usual time no longer fits"],
  ],
  "join.instance": [[`${workflow}/roll_back_test.ts`, "join.${rung} is the deadline of that rung"]],
  "join.address": [[`${workflow}/roll_back_test.ts`, "join.${rung} is the deadline of that rung"]],
  "join.registered": [[`${workflow}/roll_back_test.ts`, "join.${rung} is the deadline of that rung"]],
  "join.ready": [[`${workflow}/roll_back_test.ts`, "join.${rung} is the deadline of that rung"]],
  "join.gates": [[`${workflow}/gates_test.ts`, "join.gates bounds how long one machine may take"]],
  "join.attempts": [[`${workflow}/roll_back_test.ts`, "join.attempts is how often a machine is recreated"]],
  "drain.timeout": [[`${workflow}/drain_test.ts`, "the timeout may be edited while a machine is drained"]],
  "drain.onBlocked": [
    [`${workflow}/drain_test.ts`, "Wait goes on waiting after the timeout"],
    [`${workflow}/drain_test.ts`, "SetAside sets a machine aside"],
    [`${workflow}/drain_test.ts`, "Force deletes what remains"],
  ],
  "drain.localStorage": [
    [drain, "Drain: deletes local storage with the pod"],
    [`${workflow}/drain_test.ts`, "order and localStorage reach the drain"],
  ],
  "drain.order": [
    [drain, "Drain: evicts all priorities at once"],
    [`${workflow}/drain_test.ts`, "order and localStorage reach the drain"],
  ],
  gates: [
    [`${workflow}/gates_test.ts`, "a gate of EachMachine is asked about every newcomer"],
    [`${workflow}/gates_test.ts`, "a failed gate of EachWave halts the rollout"],
    [`${workflow}/gates_test.ts`, "a gate that cannot be judged in time waits for a person"],
    [`${gates}/checks_test.ts`, "lookAtNodeCondition: checks the node of a machine"],
    [`${gates}/checks_test.ts`, "lookAtDaemonSets: requires a Ready pod"],
    [`${gates}/checks_test.ts`, "lookAtPods: requires a minimum"],
    [`${gates}/prometheus_test.ts`, "lookAtPrometheus: requires enough samples"],
    [`${gates}/job_test.ts`, "lookAtJob: makes one Job"],
  ],
  onFailure: [[`${workflow}/roll_back_test.ts`, "Rollback goes back to the last good template"]],
  maxFailed: [[`${workflow}/roll_back_test.ts`, "maxFailed lets single machines fail"]],
  onProfileChange: [
    [`${workflow}/change_test.ts`, "Roll makes a changed profile a rollout"],
    [`${workflow}/change_test.ts`, "NewMachinesOnly publishes a changed profile"],
  ],
  onImageChange: [
    [`${workflow}/keep_machines_test.ts`, "InPlace replaces no machine for another image"],
    [`${workflow}/keep_machines_test.ts`, "ReplaceIfRefused replaces machines that cannot stay"],
  ],
  onNewChange: [
    [`${workflow}/change_test.ts`, "Finish sees machines of the earlier change through"],
    [`${workflow}/change_test.ts`, "Supersede drops what the earlier change has under way"],
  ],
  approval: [
    [`${workflow}/approval_test.ts`, "BeforeFirst starts with the approval of the plan"],
    [`${workflow}/approval_test.ts`, "BeforeEachWave asks again before each wave"],
  ],
  "inPlace.stageAtOnce": [[
    `${workflow}/in_place_policy_test.ts`,
    "inPlace.stageAtOnce is how many fetch an image at once",
  ]],
  "inPlace.stage": [[`${workflow}/in_place_policy_test.ts`, "inPlace.stage is how long that may take"]],
  "inPlace.boot": [[`${workflow}/in_place_policy_test.ts`, "inPlace.boot is how long a node may be away"]],
  "inPlace.soak": [[
    `${workflow}/in_place_policy_test.ts`,
    "inPlace.soak is how long a node is watched before it is uncordoned",
  ]],
  "etcd.snapshot": [
    [policy, "rulesOf: omits etcd without snapshots"],
    [policy, "rulesOf: keeps snapshots of etcd in a folder"],
    [policy, "rulesOf: keeps snapshots of etcd at a URL"],
  ],
  "repair.enabled": [[`${workflow}/repair_test.ts`, "repair.enabled false leaves ill machines alone"]],
  "repair.notReadyFor": [[`${workflow}/repair_test.ts`, "repair.notReadyFor is how long"]],
  "repair.conditions": [[`${workflow}/repair_test.ts`, "repair.conditions names other illnesses"]],
  "repair.maxUnhealthy": [[`${workflow}/repair_test.ts`, "repair.maxUnhealthy stops all repairs"]],
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
    fieldsOf({ ...defaultRules, inPlace: defaultInPlace, onImageChange: "Replace", etcd: { snapshot: null } }).sort(),
  );
});

Deno.test("policy fields: each test of the table exists", () => {
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
