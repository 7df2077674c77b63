/** Whether a run of tests has caught a planted fault. */
import { testsThat } from "../run/counts.ts";
import type { CatchingTest } from "./faults.ts";
import type { Run } from "./run_test_file.ts";

export type Verdict = { is: "Caught" } | { is: "Missed" | "Unusable"; why: string };

/** Errors of a fault that does not run: such a fault proves nothing about the tests. */
const broken = /SyntaxError|ReferenceError|Module not found|Cannot find module|Module build failed|is not a function/;

/** A failed assertion, or a test that waited in vain (`eventually`). */
const asserted = /AssertionError|Timed out after .* waiting for .*: last seen: /;

/** A fault is caught when a test fails with an assertion. */
export function verdictOf({ junit, output }: Pick<Run, "junit" | "output">): Verdict {
  if (junit === undefined) return { is: "Unusable", why: `no test ran: ${firstLine(output)}` };
  const failures = [...junit.matchAll(/<failure message="([^"]*)"/g)].map(([, message = ""]) => unquoted(message));
  const [first] = failures;
  if (first === undefined) {
    return testsThat("passed", junit).length > 0
      ? { is: "Missed", why: "the test passes with the fault" }
      : { is: "Unusable", why: "no test has such a name" };
  }
  const fault = failures.find((message) => broken.test(message));
  if (fault !== undefined) return { is: "Unusable", why: `the fault does not run: ${firstLine(fault)}` };
  if (failures.some((message) => asserted.test(message))) return { is: "Caught" };
  return { is: "Missed", why: `the test fails without an assertion: ${firstLine(first)}` };
}

/** Returns why a test cannot catch a fault; undefined if it can. Without a fault the test has to run and to pass. */
export function reasonAgainst(
  { filter = "" }: CatchingTest,
  { junit, output }: Pick<Run, "junit" | "output">,
): string | undefined {
  if (junit === undefined) return `no test ran without a fault: ${firstLine(output)}`;
  const isMeant = (test: string): boolean => test.includes(filter);
  const [failed] = testsThat("failed", junit).filter(isMeant);
  if (failed !== undefined) return `fails without a fault: ${failed}`;
  return testsThat("passed", junit).some(isMeant) ? undefined : "no test has such a name";
}

function unquoted(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&#10;", "\n");
}

function firstLine(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return (lines.find((line) => /error/i.test(line)) ?? lines.find(Boolean) ?? "").slice(0, 200);
}
