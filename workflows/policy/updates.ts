/**
 * Which machines to update in place, and which fetch their image beforehand. Order, zones, budget, waves and blocks are
 * the same as for replacements.
 */
import type { Member } from "../contracts/mod.ts";
import { hasRoomFor, withVictim } from "./budget.ts";
import type { Budget } from "./budget.ts";
import { isKept } from "./census.ts";
import type { Census } from "./census.ts";
import { inPlaceOf } from "./in_place.ts";
import { victimsOf } from "./order.ts";
import type { Situation, Step } from "./turn.ts";

export interface Updates {
  steps: Step[];
  /** Whether staged machines wait only because the budget is spent. */
  isSpent: boolean;
}

interface Room {
  census: Census;
  budget: Budget;
  /** Number of machines that may be updated up to and including this wave. */
  upTo: number;
  /** Whether updates may begin. */
  open: boolean;
}

/** Returns the updates to resume, whatever blocks new ones, then the updates to begin, then the images to stage. */
export function updatesOf(situation: Situation, room: Room): Updates {
  if (!situation.supplier.capabilities.updates.includes("InPlace")) return { steps: [], isSpent: false };
  const resumed = resumedOf(situation);
  if (!room.open) return { steps: resumed, isSpent: false };
  // All resumed machines are out of service, but the budget does not yet count those that are missing in
  // `updatesBegun`.
  const { updatesBegun = {} } = situation;
  const uncounted = resumed.filter(({ machine }) => !(machine.id in updatesBegun)).length;
  const budget = { ...room.budget, changing: room.budget.changing + uncounted };
  const { steps, isSpent } = nextOf(situation, { ...room, budget }, new Set(resumed.map(idOf)));
  const begun = [...resumed, ...steps];
  return { steps: [...begun, ...stagesOf(situation, room, new Set(begun.map(idOf)))], isSpent };
}

/**
 * Returns the updates that have begun but have no task: those that an earlier run recorded, and those of cordoned
 * machines that already run the target, because a run ended before it uncordoned them.
 */
function resumedOf({ pool, busy: { updating = [] }, updatesBegun = {} }: Situation): (Step & { kind: "update" })[] {
  const known = Object.entries(updatesBegun).filter(([id, { isOut }]) => !isOut && !updating.includes(id))
    .map(([id]) => id);
  const stale = pool.stale.filter(({ id }) => !updating.includes(id) && !(id in updatesBegun));
  const found = new Map([...pool.old, ...pool.stale].map((member) => [member.id, member]));
  const members = [...known.map((id) => found.get(id) ?? unlisted(id)), ...stale];
  return members.map((machine) => ({ kind: "update", machine, isResumed: true }));
}

// The snapshot may no longer list the machine, but its id is enough to resume the update.
function unlisted(id: string): Member {
  return {
    ...{ id, node: id, templateHash: "", image: "", kubelet: "", phase: "NotReady", since: "" },
    ...{ marked: true, held: true, expendable: false },
  };
}

function nextOf(situation: Situation, { census, budget, upTo }: Room, taken: Set<string>): Updates {
  const victims = victimsOf(situation, census);
  const steps: Step[] = [];
  const isReady = (member: Member): boolean => member.staged === true && !isBusy(situation, member, taken);
  for (let left = budget; census.started + steps.length < Math.min(upTo, situation.desired.replicas);) {
    const machine = victims.take((member) => isReady(member) && hasRoomFor(left, member));
    if (!machine) return { steps, isSpent: situation.pool.old.some(isReady) && steps.length === 0 };
    left = withVictim(left, machine);
    steps.push({ kind: "update", machine, isResumed: false });
  }
  return { steps, isSpent: false };
}

/**
 * Returns the machines that stage their image next: no more than the wave may still update, because any reboot starts a
 * staged image.
 */
function stagesOf(situation: Situation, { census, upTo }: Room, taken: Set<string>): Step[] {
  const { pool, busy: { staging = [] }, rules, desired } = situation;
  const free = pool.old.filter((member) => !isKept(situation, member) && !isBusy(situation, member, taken));
  const ahead = free.filter(({ staged }) => staged).length + staging.length;
  const slots = Math.min(upTo, desired.replicas) - census.started - countIn(pool.old, taken) - ahead;
  const most = Math.min(slots, inPlaceOf(rules).stageAtOnce - staging.length);
  const next = free.filter(({ staged, phase }) => !staged && phase === "Ready");
  return next.slice(0, Math.max(0, most)).map((machine) => ({ kind: "stage", machine }));
}

function isBusy({ busy: { staging = [], updating = [] } }: Situation, { id }: Member, taken: Set<string>): boolean {
  return staging.includes(id) || updating.includes(id) || taken.has(id);
}

function countIn(members: readonly Member[], ids: Set<string>): number {
  return members.filter(({ id }) => ids.has(id)).length;
}

function idOf(step: Step): string {
  return step.kind === "update" ? step.machine.id : "";
}
