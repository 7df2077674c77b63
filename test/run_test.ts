import assert from "node:assert/strict";
import { closingLine, countTests, judgeTests, total } from "./run.ts";

const junit = (cases: string): string => `<testsuites><testsuite name="a">${cases}</testsuite></testsuites>`;
const passed = (name: string): string => `<testcase name="${name}" line="1">\n</testcase>`;
const failed = (name: string): string => `<testcase name="${name}"><failure message="x">x</failure></testcase>`;
const skipped = (name: string): string => `<testcase name="${name}"><skipped/></testcase>`;

Deno.test("countTests counts each way a test can end", () => {
  const report = junit(passed("a") + failed("b") + skipped("c") + passed("d"));
  assert.deepEqual(countTests(report), { passed: 2, failed: 1, skipped: 1 });
});

Deno.test("countTests leaves the steps inside a test out", () => {
  const report = junit(failed("story") + passed("story &gt; one") + failed("story &gt; two") + passed("x &gt; y"));
  assert.deepEqual(countTests(report), { passed: 1, failed: 1, skipped: 0 });
});

Deno.test("judgeTests counts a failure where the exit code tells of one the report leaves out", () => {
  assert.deepEqual(judgeTests(false, junit(passed("a"))), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(false, junit(failed("a"))), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(true, junit(passed("a"))), { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("judgeTests counts a run without a report as failed", () => {
  assert.deepEqual(judgeTests(true, undefined), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("closingLine names skipped tests only when there are some", () => {
  assert.equal(closingLine({ passed: 3, failed: 0, skipped: 0 }), "3 passed, 0 failed");
  assert.equal(closingLine({ passed: 3, failed: 1, skipped: 2 }), "3 passed, 1 failed, 2 skipped");
});

Deno.test("total adds every column", () => {
  const sum = total([{ passed: 1, failed: 2, skipped: 3 }, { passed: 10, failed: 20, skipped: 30 }]);
  assert.deepEqual(sum, { passed: 11, failed: 22, skipped: 33 });
});
