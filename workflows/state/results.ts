/**
 * Records that a machine joined or is gone, for the query, the result of the run and the typical durations of this
 * pool.
 */
import type { Joined, ReplacementRecord } from "../contracts/mod.ts";
import { noteUsual } from "./memory.ts";
import { addJoin, addReplacement } from "./records.ts";
import type { Part, Seen } from "./rollout.ts";

/** Records a machine that joined and passed its gates, and forgets when it began to boot. */
export function recordJoin(
  { machines: { booting }, records, memory }: Part<"machines" | "records" | "memory">,
  { readyAt, ...join }: Joined,
): void {
  const started = booting[join.machine]?.since ?? readyAt;
  delete booting[join.machine];
  const joinedSeconds = Math.max(0, Math.round((readyAt - started) / 100) / 10);
  addJoin(records, { ...join, joinedSeconds });
  noteUsual(memory, "join", joinedSeconds);
}

/** Records a machine that was replaced; `seconds` is the time from the start of its drain until it was gone. */
export function recordReplacement(
  { records, memory }: Part<"records" | "memory">,
  replacement: ReplacementRecord,
  seconds: number,
): void {
  addReplacement(records, replacement);
  noteUsual(memory, "leave", seconds);
}

/**
 * Records that a machine is gone; only an old machine that was being drained counts as replaced. `drained` is how many
 * seconds its drain took; if absent, the time since the start of the drain counts.
 */
export function recordGone(
  { target, machines, records, memory }: Seen<"target"> & Part<"machines" | "records" | "memory">,
  machine: string,
  drained?: number,
): void {
  const drain = machines.draining[machine];
  delete machines.draining[machine];
  if (!drain || drain.templateHash === target.desired?.templateHash) return; // scaled down or repaired, not replaced
  const { image, kubelet, since } = drain;
  const seconds = secondsSince(since);
  const replacedBy = records.joins.at(-1)?.machine ?? "";
  const replacement = { machine, replacedBy, image, kubelet, drainedSeconds: drained ?? seconds };
  recordReplacement({ records, memory }, replacement, seconds);
}

/** Returns the seconds since `start` (epoch ms). */
export function secondsSince(start: number): number {
  return Math.round((Date.now() - start) / 100) / 10;
}
