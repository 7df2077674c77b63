import { equal } from "node:assert/strict";
import { isHeldBack, settingOf } from "../../../../activities/status/renewal_setting.ts";

interface Case {
  setting?: string;
  generation?: number;
  /** The setting when the run was cancelled; undefined if it was not. */
  was?: string;
}

function held({ setting, generation = 1, was }: Case): boolean {
  const annotations = setting === undefined ? undefined : { "ostler.dev/renew-certificates": setting };
  const status = was === undefined ? {} : { cancelledRenewal: { generation: 1, setting: was } };
  return isHeldBack({ metadata: { generation, annotations }, status });
}

const cases: [what: string, isHeld: boolean, given: Case][] = [
  ["no wish", false, {}],
  ["a person who turned it off", true, { setting: "Off" }],
  ["another setting", false, { setting: "again" }],
  ["a cancellation", true, { was: "" }],
  ["a cancellation, with the setting of that time", true, { setting: "1", was: "1" }],
  ["a cancellation, and a new setting", false, { setting: "2", was: "1" }],
  ["a cancellation, and the first setting", false, { setting: "1", was: "" }],
  ["a cancellation, and a change of the NodeVersion", false, { generation: 2, was: "" }],
];

for (const [what, isHeld, given] of cases) {
  Deno.test(`isHeldBack: ${isHeld ? "holds" : "does not hold"} after ${what}`, () => equal(held(given), isHeld));
}

Deno.test("settingOf: limits the length of the setting, because a history stores it", () => {
  equal(settingOf({ metadata: { annotations: { "ostler.dev/renew-certificates": "x".repeat(9_999) } } }).length, 200);
});
