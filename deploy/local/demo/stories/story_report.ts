import Table from "cli-table3";
import type { ObserverReport, Violation } from "../../observer/observer_report.ts";
import { type Check, mark } from "./checklist.ts";
import type { StoryName } from "./story_names.ts";

/** The report of a story, which `--json` prints. */
export interface StoryReport {
  ok: boolean;
  story: StoryName;
  seed: number;
  replicas: number;
  /** Seconds from the created pool to the end of the story. */
  seconds: number;
  checks: Check[];
  webUi: string;
  violations: Violation[];
  /** Periods in which the observer may have missed changes, one sentence each. */
  gaps: string[];
}

/**
 * Returns the checks that every story includes: what the observer saw at every moment after the pool had converged for
 * the first time.
 */
export function observerChecks({ readyNodes, machines, secrets, gaps }: ObserverReport): Check[] {
  const most = Math.max(machines.max, machines.objects);
  return [
    {
      name: `at least ${readyNodes.wanted} Ready nodes at any time`,
      ok: readyNodes.ok,
      detail: `minimum ${readyNodes.min}`,
    },
    { name: `at most ${machines.allowed} machines at any time`, ok: machines.ok, detail: `maximum ${most}` },
    { name: "all secrets exist at any time", ok: secrets.ok, detail: `missing ${secrets.missing} times` },
    { name: "the observer saw every change", ok: gaps.length === 0, detail: `${gaps.length} gaps` },
  ];
}

/** Returns the report as text: every check with its result, and the violations and gaps. */
export function storyText({ story, checks, violations, gaps, ok, seconds }: StoryReport): string {
  const table = new Table({ head: ["", "check", "result"], style: { head: [], border: [], compact: true } });
  for (const check of checks) table.push([mark(check), check.name, short(check.detail)]);
  const failures = violations.map(({ at, message, names }) => `${at} ${message}: ${names.join(", ") || "none"}`);
  const failed = checks.filter((check) => !check.ok).length;
  const verdict = ok ? "All checks passed" : `${failed} of ${checks.length} checks FAILED`;
  return [table.toString(), ...failures, ...gaps, `Story "${story}": ${verdict} (${seconds.toFixed(1)} s)`].join("\n");
}

function short(detail: string): string {
  return detail.length > 100 ? `${detail.slice(0, 99)}…` : detail;
}
