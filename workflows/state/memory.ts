/** What outlives a run, on the Rollout object, and the way back that is under way. */
import type { CarriedMemory, Memory as Recalled, Quarantined } from "../contracts/mod.ts";

/** All of it is carried. */
export type Memory = CarriedMemory;

/** Changes a pool remembers as bad. */
const remembered = 5;

/** Times kept of each kind. */
const samplesKept = 20;

/** A pool without a past. */
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

/** Takes over what earlier runs left on the Rollout object. */
export function adoptMemory(memory: Memory, { quarantine, lastGood, usual, left = null }: Recalled): void {
  Object.assign(memory, { quarantine, lastGood, usual, lastRollback: left, recalled: true });
}

/** Remembers a change as bad. */
export function rememberBad(memory: Memory, bad: Quarantined): void {
  memory.quarantine = [...withoutBad(memory, bad.specHash), bad].slice(-remembered);
}

/** Forgets that a change is bad. */
export function forgetBad(memory: Memory, specHash: string | undefined): void {
  memory.quarantine = withoutBad(memory, specHash);
}

/** Notes how many seconds something took. */
export function noteUsual(memory: Memory, what: keyof Memory["usual"], seconds: number): void {
  const { usual } = memory;
  memory.usual = { ...usual, [what]: [...usual[what], seconds].slice(-samplesKept) };
}

/** The change with this spec failed before. */
export function isBad({ quarantine }: Readonly<Memory>, specHash: string | undefined): boolean {
  return quarantine.some((bad) => bad.specHash === specHash);
}

function withoutBad({ quarantine }: Memory, specHash: string | undefined): Quarantined[] {
  return quarantine.filter((bad) => bad.specHash !== specHash);
}
