import { deepEqual } from "node:assert/strict";
import { counted as ofActivities } from "../../../../activities/counted.ts";
import { counted } from "../../../../workflows/policy/counted.ts";

for (const [whose, count] of [["workflows and the command", counted], ["activities", ofActivities]] as const) {
  Deno.test(`counted: writes a noun in the singular only for the number 1 (${whose})`, () => {
    deepEqual([0, 1, 2].map((number) => count(number, "pod")), ["0 pods", "1 pod", "2 pods"]);
  });
}
