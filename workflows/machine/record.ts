/** Notes what became of a machine: for the query and the result, and for what is usual in this pool. */
import type { Joined, ReplacementRecord } from "../contracts/mod.ts";
import { noteUsual } from "../state/memory.ts";
import { addJoin, addReplacement } from "../state/records.ts";
import type { Part } from "../state/rollout.ts";

/** It joined and passed its gates: when it began to boot is forgotten. */
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

/** It went, after `seconds` in all. */
export function recordReplacement(
  { records, memory }: Part<"records" | "memory">,
  replacement: ReplacementRecord,
  seconds: number,
): void {
  addReplacement(records, replacement);
  noteUsual(memory, "leave", seconds);
}
