/** What a run comes to: tests counted by how they ended. */

/** How many tests ended how; steps inside a test are not counted. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export const nothing: Counts = { passed: 0, failed: 0, skipped: 0 };
export const oneFailed: Counts = { ...nothing, failed: 1 };

/** Counts the tests of a JUnit report that `deno test` wrote. */
export function countTests(junit: string): Counts {
  const counts = { ...nothing };
  for (const [, suite = ""] of junit.matchAll(/<testsuite (.*?)<\/testsuite>/gs)) {
    const tests: string[] = [];
    for (const [, name = "", body = ""] of suite.matchAll(/<testcase name="([^"]*)".*?>(.*?)<\/testcase>/gs)) {
      if (tests.some((test) => name.startsWith(`${test} &gt; `))) continue;
      tests.push(name);
      counts[body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed"]++;
    }
  }
  return counts;
}

/** Judges one `deno test` by its exit and its report: a run that failed anywhere never counts as green. */
export function judgeTests(isSuccess: boolean, junit: string | undefined): Counts {
  if (junit === undefined) return oneFailed;
  const counts = countTests(junit);
  return isSuccess || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

/** The last line of a run, in the form that a CI counts. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The sum of many counts. */
export function total(all: Counts[]): Counts {
  return all.reduce((sum, one) => ({
    passed: sum.passed + one.passed,
    failed: sum.failed + one.failed,
    skipped: sum.skipped + one.skipped,
  }), nothing);
}
