/** Tests the list of planted faults: each fault's text is in the code, and the test that has to catch it exists. */
import { deepEqual, equal, throws } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { faults } from "../planted/faults.ts";
import { allowedTo } from "../planted/run_test_file.ts";
import { reasonAgainst, verdictOf } from "../planted/verdict.ts";
import { planted } from "../planted/working_copy.ts";

const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

Deno.test("faults: the text that each fault replaces occurs exactly once in its file, and the replacement differs", () => {
  for (const fault of faults) {
    const text = readFileSync(path(fault.file), "utf8");
    equal(planted(text, fault) === text, false, fault.name);
  }
});

Deno.test("faults: each names an existing test file that belongs to a group of tests, and no two have the same name", () => {
  const missing = faults.filter(({ caughtBy: { file } }) => !existsSync(path(file)) || allowedTo(file).length === 0);
  deepEqual(missing.map(({ name }) => name), []);
  equal(new Set(faults.map(({ name }) => name)).size, faults.length);
});

Deno.test("planted: refuses a fault whose text is missing from the file, or occurs twice in it", () => {
  for (const text of ["none", "a fault, a fault"]) {
    throws(() => planted(text, { file: "f.ts", from: "a fault", to: "" }), /Failed to plant a fault in "f.ts"/);
  }
});

const report = (body: string): string =>
  `<testsuite name="./a_test.ts" tests="1">\n<testcase name="it works" time="1">${body}</testcase>\n</testsuite>`;

for (
  const [what, junit, is] of [
    ["a failed assertion", report('<failure message="Uncaught AssertionError: 2 == 1">'), "Caught"],
    [
      "a wait that times out",
      report('<failure message="Error: Timed out after 1 s waiting for a join: last seen: false">'),
      "Caught",
    ],
    ["an error that is neither an assertion nor a timeout", report('<failure message="Error: HTTP 500">'), "Missed"],
    [
      "a fault that makes the code throw a ReferenceError",
      report('<failure message="ReferenceError: x is not defined">'),
      "Unusable",
    ],
    ["a passed test", report(""), "Missed"],
    ["a skipped test, because no test has that name", report("<skipped/>"), "Unusable"],
    ["a missing report", undefined, "Unusable"],
  ] as const
) {
  Deno.test(`verdictOf: returns ${is} for ${what}`, () => equal(verdictOf({ junit, output: "" }).is, is));
}

Deno.test("reasonAgainst: refuses a test that fails without a fault, or does not exist", () => {
  const test = { file: "a_test.ts", filter: "it works" };
  const reasons = [report(""), report('<failure message="AssertionError">'), report("<skipped/>"), undefined]
    .map((junit) => reasonAgainst(test, { junit, output: "" }));
  deepEqual(reasons.map((reason) => reason === undefined), [true, false, false, false]);
});
