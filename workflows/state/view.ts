/** What people are told. */
import type { Phase, PoolEvent } from "../contracts/mod.ts";
import type { Blocked } from "../policy/turn.ts";

/** What people see about now; `until` is the absolute deadline of what is waited for. */
export interface Standing {
  phase: Phase;
  reason: string;
  message: string;
  since: number;
  until?: number;
}

export interface View {
  standing: Standing;
  /** Why nothing more begins. */
  blocked: Blocked | null;
  /** What was last written to the Rollout object. */
  shown: string;
  /** Events to be written with the next report. */
  news: PoolEvent[];
}

/** Events that wait for a report: in an outage they must not grow for ever. */
const newsKept = 50;

/** A run that begins. */
export function openView(now: number): View {
  return {
    standing: { phase: "Preparing", reason: "Starting", message: "Reading what is desired", since: now },
    blocked: null,
    shown: "",
    news: [],
  };
}

/** Says something that deserves an Event, with the next report. */
export function tell(view: View, reason: string, message: string): void {
  add(view, { type: "Normal", reason, message });
}

/** Says something that somebody should look at, with the next report. */
export function warn(view: View, reason: string, message: string): void {
  add(view, { type: "Warning", reason, message });
}

function add(view: View, event: PoolEvent): void {
  view.news = [...view.news, event].slice(-newsKept);
}
