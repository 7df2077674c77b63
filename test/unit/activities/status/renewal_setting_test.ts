import { equal } from "node:assert/strict";
import { isHeldBack, settingOf } from "../../../../activities/status/renewal_setting.ts";

interface Case {
  setting?: string;
  generation?: number;
  /** The value of the annotation when a person cancelled the run; undefined if no run was cancelled. */
  was?: string;
}

function held({ setting, generation = 1, was }: Case): boolean {
  const annotations = setting === undefined ? undefined : { "ostler.dev/renew-certificates": setting };
  const status = was === undefined ? {} : { cancelledRenewal: { generation: 1, setting: was } };
  return isHeldBack({ metadata: { generation, annotations }, status });
}

const cases: [what: string, isHeld: boolean, given: Case][] = [
  ["neither annotation nor cancellation", false, {}],
  ["a person set the annotation to Off", true, { setting: "Off" }],
  ["another value of the annotation", false, { setting: "again" }],
  ["a cancellation", true, { was: "" }],
  ["a cancellation, when the annotation is unchanged", true, { setting: "1", was: "1" }],
  ["a cancellation, when the annotation has a new value", false, { setting: "2", was: "1" }],
  ["a cancellation, when the annotation was set for the first time", false, { setting: "1", was: "" }],
  ["a cancellation, when the NodeVersion has a new generation", false, { generation: 2, was: "" }],
];

for (const [what, isHeld, given] of cases) {
  Deno.test(`isHeldBack: ${isHeld ? "holds" : "does not hold"} a renewal back (${what})`, () =>
    equal(held(given), isHeld));
}

Deno.test("settingOf: limits the length of the setting, because a history stores it", () => {
  equal(settingOf({ metadata: { annotations: { "ostler.dev/renew-certificates": "x".repeat(9_999) } } }).length, 200);
});
