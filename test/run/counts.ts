/** The result of a run: tests counted by how they ended. */

/** The number of tests by result; steps inside a test are not counted. */
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
  for (const test of testsOf(junit)) counts[endOf(test)]++;
  return counts;
}

/** The tests of a JUnit report with this result, by file and name. */
export function testsThat(ended: keyof Counts, junit: string): string[] {
  const tests = testsOf(junit).filter((test) => endOf(test) === ended);
  return tests.map(({ suite, name }) => unescaped(`${suite} => ${name}`));
}

const shownOfError = 700;

/**
 * The failed tests of a JUnit report: file and name, then the error of the test or of each failed step, without stack
 * frames and cut at 700 characters.
 */
export function failuresOf(junit: string): string[] {
  const cases = casesOf(junit).filter((each) => endOf(each) === "failed");
  return withoutSteps(cases).map((test) => {
    const own = cases.filter(({ name }) => name === test.name || name.startsWith(`${test.name} &gt; `));
    const errors = own.flatMap(({ name, body }) => {
      const [, told = ""] = /<failure[^>]*>(.*?)<\/failure>/s.exec(body) ?? [];
      if (/^\d+ test steps? failed\.$/.test(told)) return [];
      const lines = unescaped(told).split("\n").filter((line) => line.trim() !== "" && !/^ +at /.test(line));
      const error = cut(lines.join("\n    "));
      return [
        name === test.name ? `\n    ${error}` : `\n  ${unescaped(name.slice(test.name.length + 6))}\n    ${error}`,
      ];
    });
    return unescaped(`${test.suite} => ${test.name}`) + errors.join("");
  });
}

function cut(text: string): string {
  return text.length > shownOfError ? `${text.slice(0, shownOfError)} […]` : text;
}

function endOf({ body }: Case): keyof Counts {
  return body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed";
}

/** A title and a duration. */
export interface Timed {
  what: string;
  seconds: number;
}

/** How long the tests of each file of a JUnit report took together. */
export function secondsOfFiles(junit: string): Timed[] {
  const sums = new Map<string, number>();
  for (const { suite, seconds } of testsOf(junit)) sums.set(suite, (sums.get(suite) ?? 0) + seconds);
  return [...sums].map(([suite, seconds]) => ({ what: unescaped(suite).replace(/^\.\//, ""), seconds }));
}

/** Returns a line for each of the ten slowest tests or files. */
export function slowestLines(all: readonly Timed[]): string[] {
  const slowest = all.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  return slowest.map(({ what, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${what}`);
}

interface Case {
  suite: string;
  name: string;
  seconds: number;
  body: string;
}

/** Returns the tests without the steps inside them. */
function testsOf(junit: string): Case[] {
  return withoutSteps(casesOf(junit));
}

/** Removes the steps: Deno reports a step under the file that defines it, which need not be the file of its test. */
function withoutSteps(cases: readonly Case[]): Case[] {
  return cases.filter(({ name }) => !cases.some((test) => name.startsWith(`${test.name} &gt; `)));
}

/** Returns all tests and steps. */
function casesOf(junit: string): Case[] {
  return [...junit.matchAll(/<testsuite name="([^"]*)"(.*?)<\/testsuite>/gs)].flatMap((
    [, suite, content = ""],
  ) =>
    [...content.matchAll(/<testcase name="([^"]*)"(.*?)>(.*?)<\/testcase>/gs)].map(
      ([, name = "", told = "", body = ""]) => {
        return { suite: suite ?? "", name, seconds: Number(/ time="([^"]*)"/.exec(told)?.[1] ?? 0), body };
      },
    )
  );
}

function unescaped(text: string): string {
  const characters: Record<string, string> = { quot: '"', apos: "'", lt: "<", gt: ">", amp: "&" };
  return text.replace(/&(quot|apos|lt|gt|amp);/g, (_, name: string) => characters[name] ?? "");
}

/** Evaluates one `deno test` by its exit code and its report: a run that failed anywhere never counts as green. */
export function judgeTests(isSuccess: boolean, junit: string | undefined): Counts {
  if (junit === undefined) return oneFailed;
  const counts = countTests(junit);
  return isSuccess || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

/** The last line of a run, in the format that a CI counts. */
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
