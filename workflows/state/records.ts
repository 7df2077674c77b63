/** The machines that joined, and the machines that were replaced, for the query `progress` and the run's result. */
import type { CarriedRecords, JoinRecord, ReplacementRecord } from "../contracts/mod.ts";

/** The next run of the chain gets all fields. */
export type Records = CarriedRecords;

/** How many records of each kind are kept; older ones are only in the history of the run. */
const recordsKept = 100;

/** Returns the state without records. */
export function freshRecords(): CarriedRecords {
  return { joins: [], joined: null, replacements: [], replaced: 0 };
}

/** Adds a machine that joined. */
export function addJoin(records: Records, join: JoinRecord): void {
  records.joined = joinedIn(records) + 1;
  records.joins = [...records.joins, join].slice(-recordsKept);
}

/** Returns the number of machines that joined since the rollout began. */
export function joinedIn({ joined, joins }: Readonly<Records>): number {
  return joined ?? joins.length;
}

/** Counts joins from 0, because another rollout begins. */
export function countJoinsAnew(records: Records): void {
  records.joined = 0;
}

/** Adds a machine that was replaced, and counts it. */
export function addReplacement(records: Records, replacement: ReplacementRecord): void {
  records.replaced += 1;
  records.replacements = [...records.replacements, replacement].slice(-recordsKept);
}
