import { equal } from "node:assert/strict";
import { cancelledWith, isHeldBack, settingOf } from "../../../../activities/status/renewal_setting.ts";

interface Case {
  setting?: string;
  generation?: number;
  reason?: string;
  /** The setting when the run was cancelled. */
  was?: string;
}

function held({ setting, generation = 1, reason, was = "" }: Case): boolean {
  const annotations = setting === undefined ? undefined : { "ostler.dev/renew-certificates": setting };
  const told = { type: "CertificatesRenewed", message: `cancelled${cancelledWith(was)}`, observedGeneration: 1 };
  const conditions = reason === undefined ? [] : [{ ...told, reason }];
  return isHeldBack({ metadata: { generation, annotations }, status: { conditions } });
}

const cancelled = "RenewalCancelled";

const cases: [what: string, isHeld: boolean, given: Case][] = [
  ["no wish", false, {}],
  ["a person who turned it off", true, { setting: "Off" }],
  ["another setting", false, { setting: "again" }],
  ["a halt", false, { reason: "RenewalHalted" }],
  ["a cancellation", true, { reason: cancelled }],
  ["a cancellation, with the setting of that time", true, { reason: cancelled, setting: "1", was: "1" }],
  ["a cancellation, and a new setting", false, { reason: cancelled, setting: "2", was: "1" }],
  ["a cancellation, and the first setting", false, { reason: cancelled, setting: "1" }],
  ["a cancellation, and a setting that ends like the earlier one", false, {
    reason: cancelled,
    setting: '1"',
    was: 'x"1',
  }],
  ["a cancellation, and a change of the NodeVersion", false, { reason: cancelled, generation: 2 }],
];

for (const [what, isHeld, given] of cases) {
  Deno.test(`isHeldBack: ${isHeld ? "holds" : "does not hold"} after ${what}`, () => equal(held(given), isHeld));
}

Deno.test("settingOf: bounds what a history stores", () => {
  equal(settingOf({ metadata: { annotations: { "ostler.dev/renew-certificates": "x".repeat(9_999) } } }).length, 200);
});
