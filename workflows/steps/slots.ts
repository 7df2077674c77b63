/** Places of the budget that all pools share: taken before a replacement begins, given back when its victim is gone. */
import { write } from "../proxies.ts";
import type { Blocked } from "../policy/turn.ts";
import type { Rollout } from "../state/rollout.ts";

/** A full budget is asked again after this long, and each time after twice as long (ms): many pools may wait for it. */
const askAgainMs = { first: 15_000, most: 120_000 };

/** Takes a place for a machine that comes; gives what stands in the way when all are taken. */
export async function takeSlot(rollout: Rollout, machine: string): Promise<Blocked | undefined> {
  const limit = rollout.rules?.budget.cluster ?? null;
  if (limit === null || rollout.slots.includes(machine)) return undefined;
  let { taken, holders } = await ask(rollout, machine, limit);
  if (!taken && isAdopted(rollout, holders)) {
    await giveBackSlots(rollout);
    ({ taken, holders } = await ask(rollout, machine, limit));
  }
  if (taken) {
    rollout.slotTries = 0;
    return void rollout.slots.push(machine);
  }
  const pause = Math.min(askAgainMs.most, askAgainMs.first * 2 ** rollout.slotTries++);
  const message = `All ${limit} places of the shared budget are taken, by ${holders.slice(0, 3).join(", ")}`;
  return { reason: "ClusterBudget", message, until: Date.now() + pause };
}

function ask({ pool }: Rollout, machine: string, limit: number): Promise<{ taken: boolean; holders: string[] }> {
  const summary = `Take a place of the shared budget for ${machine}`;
  return write.ensureSlotTaken.executeWithOptions({ summary }, [{ pool, machine, limit }]);
}

/** Takes over places of this pool that a run of before had no time to give back; true when there were such. */
function isAdopted(rollout: Rollout, holders: string[]): boolean {
  const { namespace, name } = rollout.pool;
  const own = `${namespace}/${name}/`;
  const left = holders.filter((holder) => holder.startsWith(own)).map((holder) => holder.slice(own.length));
  const unknown = left.filter((machine) => !rollout.slots.includes(machine));
  rollout.slots = [...unknown, ...rollout.slots];
  return unknown.length > 0;
}

/** Gives back the places of replacements that have ended; all of them when `all`. */
export async function giveBackSlots(rollout: Rollout, all = false): Promise<void> {
  const { booting, pool } = rollout;
  const out = Math.max(Object.keys(booting).length, goingOf(rollout));
  const keep = all || out === 0 ? [] : rollout.slots.slice(-out);
  if (keep.length === rollout.slots.length) return;
  await write.ensureSlotsKept.executeWithOptions({ summary: "Give back places of the shared budget" }, [
    { pool, machines: keep },
  ]);
  rollout.slots = keep;
}

/** Victims that leave or are about to: one whose newcomer failed stays until there is another, and needs no place. */
function goingOf({ snapshot, desired, failed }: Rollout): number {
  if (!snapshot) return 0;
  const { machines, held, leaving } = snapshot.counts;
  const marked = snapshot.old.filter((member) => member.marked).length;
  const above = Math.max(0, machines - held - leaving - failed.length - (desired?.replicas ?? 0));
  return leaving + Math.min(marked, above);
}
