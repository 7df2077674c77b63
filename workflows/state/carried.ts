/** Reads and writes what one run of a chain hands to the next, also when another version wrote it. */
import type { CarriedState } from "../contracts/mod.ts";
import { filled } from "./filled.ts";
import { freshLoop } from "./loop.ts";
import { freshMachines } from "./machines.ts";
import { freshMemory } from "./memory.ts";
import { freshPeople } from "./people.ts";
import { freshRecords } from "./records.ts";
import { freshSlots } from "./slots.ts";
import { freshTarget } from "./target.ts";
import { freshWaves } from "./waves.ts";

/** What the first run of a chain begins with; its fields are those that are carried. */
export function freshState(now: number): CarriedState {
  return {
    schemaVersion: 1,
    target: freshTarget(now),
    people: freshPeople(),
    waves: freshWaves(),
    machines: freshMachines(),
    records: freshRecords(),
    slots: freshSlots(),
    memory: freshMemory(),
    loop: freshLoop(),
  };
}

/** What the next run of the chain needs to go on, of the groups of a rollout. */
export function carriedState(groups: Omit<CarriedState, "schemaVersion">): CarriedState {
  const { schemaVersion, ...fresh } = freshState(0);
  const picked = Object.entries(fresh).map(([group, fields]) => {
    const all = Object.entries(groups[group as keyof typeof fresh]);
    return [group, Object.fromEntries(all.filter(([field]) => field in fields))];
  });
  return { schemaVersion, ...Object.fromEntries(picked) } as CarriedState;
}

/**
 * Reads what a run of any version handed on. What it lacks is taken as in a fresh run, what is not known is left: a
 * chain goes on under a newer version and under the one before, and never ends because of its own state.
 */
export function readCarried(given: object, now: number): CarriedState {
  const fresh = freshState(now);
  return { ...filled(fresh, given), schemaVersion: fresh.schemaVersion };
}
