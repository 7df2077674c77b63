/** What machines joined and which went, for the query and the result. */
import type { CarriedRecords, JoinRecord, ReplacementRecord } from "../contracts/mod.ts";

/** All of it is carried. */
export type Records = CarriedRecords;

/** Records kept; older ones are in the history of the run. */
const recordsKept = 100;

/** None yet. */
export function freshRecords(): CarriedRecords {
  return { joins: [], replacements: [], replaced: 0 };
}

/** Adds a machine that joined. */
export function addJoin(records: Records, join: JoinRecord): void {
  records.joins = [...records.joins, join].slice(-recordsKept);
}

/** Adds a machine that went, and counts it. */
export function addReplacement(records: Records, replacement: ReplacementRecord): void {
  records.replaced += 1;
  records.replacements = [...records.replacements, replacement].slice(-recordsKept);
}
