import { deepEqual } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { RolloutPolicySpec } from "../../../../activities/policy/rollout_policy.ts";
import { rollsBack, setsAside } from "../../../../workflows/policy/former_words.ts";

Deno.test("rules that a run took up before a word changed mean what they meant", () => {
  const words = ["Wait", "SetAside", "Quarantine", "Force"] as const;
  deepEqual(words.map((onBlocked) => setsAside({ onBlocked: onBlocked as "Wait" })), [false, true, true, false]);
  const failures = ["Halt", "Rollback", "RollBack"] as const;
  deepEqual(failures.map((onFailure) => rollsBack({ ...defaultRules, onFailure: onFailure as "Halt" })), [
    ...[false, true, true],
  ]);
});

Deno.test("a policy is refused that says it in a former word, with the words that there are", () => {
  const said = RolloutPolicySpec.safeParse({ drain: { onBlocked: "Quarantine" }, onFailure: "RollBack" });
  deepEqual(said.error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`), [
    'drain.onBlocked: Invalid option: expected one of "Wait"|"SetAside"|"Force"',
    'onFailure: Invalid option: expected one of "Halt"|"Rollback"',
  ]);
});
