/** The rollback in progress, and the state that outlives a run because the Rollout object stores that state. */
import type { CarriedMemory, Memory as Recalled, Quarantined } from "../contracts/mod.ts";

/** The next run of the chain gets all fields. */
export type Memory = CarriedMemory;

/** How many failed changes a pool remembers. */
const remembered = 5;

/** How many durations are kept of joins, and of removals. */
const samplesKept = 20;

/** Returns the memory of a pool without earlier rollouts. */
export function freshMemory(): CarriedMemory {
  return {
    recalled: false,
    quarantine: [],
    lastGood: null,
    usual: { join: [], leave: [] },
    lastRollback: null,
    rollback: null,
  };
}

/** Takes over the state that earlier runs stored on the Rollout object. */
export function adoptMemory(
  memory: Memory,
  { quarantine, lastGood, usual, left = null, isRollingBack = false }: Recalled,
): void {
  const rollback = isRollingBack && lastGood ? left : null;
  Object.assign(memory, { quarantine, lastGood, usual, lastRollback: left, rollback, recalled: true });
}

/** Adds a change to the quarantine. */
export function rememberBad(memory: Memory, bad: Quarantined): void {
  memory.quarantine = [...withoutBad(memory, bad.specHash), bad].slice(-remembered);
}

/** Removes a change from the quarantine. */
export function forgetBad(memory: Memory, specHash: string | undefined): void {
  memory.quarantine = withoutBad(memory, specHash);
}

/** Records how many seconds a join, or a drain and removal, took. */
export function noteUsual(memory: Memory, what: keyof Memory["usual"], seconds: number): void {
  const { usual } = memory;
  memory.usual = { ...usual, [what]: [...usual[what], seconds].slice(-samplesKept) };
}

/** Returns whether the change with this spec is in quarantine. */
export function isBad({ quarantine }: Readonly<Memory>, specHash: string | undefined): boolean {
  return quarantine.some((bad) => bad.specHash === specHash);
}

function withoutBad({ quarantine }: Memory, specHash: string | undefined): Quarantined[] {
  return quarantine.filter((bad) => bad.specHash !== specHash);
}
