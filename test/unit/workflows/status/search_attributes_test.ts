import { deepEqual, equal, ok } from "node:assert/strict";
import { attributesOf } from "../../../../workflows/status/report.ts";
import { openRun } from "../../../support/open_run.ts";

/** Maximum bytes of a value; Temporal terminates a run that sets a longer one. */
const mostBytes = 2_048;
/** Maximum characters of a value in the SQL databases of Temporal. */
const mostCharacters = 255;

function imageIn(image: string): string {
  const found = attributesOf(openRun({ target: { desired: { image } as never } }));
  return found.find(({ key }) => key.name === "TargetImage")?.value ?? "";
}

Deno.test("attributesOf: shortens an image that Temporal would not store", () => {
  const url = `https://images.example/worker.qcow2?X-Amz-Security-Token=${"a".repeat(3_000)}`;
  for (const image of [url, "\u0001".repeat(3_000), "🖼".repeat(3_000)]) {
    const value = imageIn(image);
    ok(new TextEncoder().encode(JSON.stringify(value)).length <= mostBytes, "Expected no termination of the run");
    ok([...value].length <= mostCharacters, "Expected a value for the list of runs");
    ok(image.startsWith(value) && value.isWellFormed());
  }
  deepEqual(["ami-1", "u".repeat(mostCharacters)].map(imageIn), ["ami-1", "u".repeat(mostCharacters)]);
  equal(imageIn(""), "");
});
