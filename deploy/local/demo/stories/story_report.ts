import Table from "cli-table3";
import type { ObserverReport, Violation } from "../../observer/observer_report.ts";
import { type Check, mark } from "./checklist.ts";
import type { StoryName } from "./story_names.ts";

/** What a story found: the object that `--json` prints. */
export interface StoryReport {
  ok: boolean;
  story: StoryName;
  seed: number;
  replicas: number;
  /** Seconds from the changed pool to the end of the story. */
  seconds: number;
  checks: Check[];
  webUi: string;
  violations: Violation[];
  /** What the observer could not see, in words. */
  gaps: string[];
}

/** What holds in every story, at every moment of it, as the observer saw it. */
export function observerChecks({ readyNodes, machines, secrets, gaps }: ObserverReport): Check[] {
  const most = Math.max(machines.max, machines.objects);
  return [
    {
      name: `never fewer than ${readyNodes.wanted} Ready nodes`,
      ok: readyNodes.ok,
      detail: `${readyNodes.min} at least`,
    },
    { name: `never more than ${machines.allowed} machines`, ok: machines.ok, detail: `${most} at most` },
    { name: "no secret ever missing", ok: secrets.ok, detail: `${secrets.missing} times missing` },
    { name: "the observer saw everything", ok: gaps.length === 0, detail: `${gaps.length} gaps` },
  ];
}

/** The end of a story as text: what was checked, and what was seen instead where a promise was broken. */
export function storyText({ story, checks, violations, gaps, ok, seconds }: StoryReport): string {
  const table = new Table({ head: ["", "what was checked", "seen"], style: { head: [], border: [], compact: true } });
  for (const check of checks) table.push([mark(check), check.name, short(check.detail)]);
  const troubles = violations.map(({ at, message, names }) => `${at} ${message}: ${names.join(", ") || "none"}`);
  const broken = checks.filter((check) => !check.ok).length;
  const verdict = ok ? "Every promise was kept" : `${broken} of ${checks.length} promises were BROKEN`;
  return [table.toString(), ...troubles, ...gaps, `Story "${story}": ${verdict} (${seconds.toFixed(1)} s)`].join("\n");
}

function short(detail: string): string {
  return detail.length > 100 ? `${detail.slice(0, 99)}…` : detail;
}
