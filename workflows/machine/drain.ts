/**
 * Cordons a node, then drains it according to the policy, which can change meanwhile. Reports the pods that block the
 * drain. After the drain timeout, the policy decides whether the run keeps waiting, sets the machine aside, or forces
 * the drain.
 */
import type { DrainOrder, DrainOutcome, DrainRules, PoolEvent, Unseen } from "../contracts/mod.ts";
import { awaits } from "../proxies.ts";
import type { Seen } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { blockersText } from "../status/page/blockers.ts";
import { giveBackOutage, unlessOver, type Work } from "./work.ts";

const standardDrain: DrainRules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" };

/** Returns the end of the drain timeout for a drain that began at `since` (epoch ms). */
export function drainEnd({ settings, target }: Seen<"settings" | "target">, since: number): number {
  return since + (rulesOf(target).timeout ?? settings.durations.drain);
}

/**
 * Drains the node of a machine. Returns SetAside if pods remain after the timeout and the policy sets such machines
 * aside.
 */
export async function drain(work: Work, node: string | undefined): Promise<"Drained" | "SetAside"> {
  const { task, note } = work;
  if (!node) return "Drained";
  let isCordoned = false;
  for (let known = "";;) {
    const seen = await drainOnce(work, { node, known, isCordoned });
    isCordoned ||= seen !== undefined && "outcome" in seen;
    if (seen && "unseenMs" in seen) {
      note({ is: "Delayed", ms: seen.unseenMs });
      continue;
    }
    if (seen?.outcome === "Drained") return "Drained";
    if (seen) known = noteBlockers(work, seen);
    if (Date.now() < drainEnd(work, task.since) || !maySetAside(work, task)) continue;
    note({ is: "SetAside" });
    return "SetAside";
  }
}

/**
 * Drains until the blocking pods change or the timeout has passed; returns undefined if the policy changed meanwhile.
 */
function drainOnce(
  work: Work,
  { node, known, isCordoned }: { node: string; known: string; isCordoned: boolean },
): Promise<DrainOutcome | Unseen | undefined> {
  const { settings, target, task } = work;
  const rules = rulesOf(target);
  const end = drainEnd({ settings, target }, task.since);
  const isOver = Date.now() >= end;
  // After the timeout the drain continues in attempts; each ends at its own deadline, or when the blocking pods change.
  const until = isOver ? Date.now() + settings.durations.recheck : end;
  task.until = until;
  // Each run evicts pods once before it deletes pods by force, even if it continues a drain after the timeout.
  const force = isOver && rules.onBlocked === "Force" && isCordoned;
  const how = force ? `${node} by force` : node;
  const told = JSON.stringify(rules);
  const order = { pool: settings.pool, machine: task.subject, node, until, rules, known, force };
  return unlessOver(
    () => JSON.stringify(rulesOf(target)) !== told,
    () =>
      isCordoned
        ? awaits.awaitNodeDrained.executeWithOptions({ summary: `Drain ${how}` }, [order])
        : cordonAndDrain(work, { order, summary: `Cordon and drain ${how}` }),
  );
}

/** Cordons and drains in one activity, so that the history has one entry. */
async function cordonAndDrain(
  work: Work,
  { order, summary }: { order: DrainOrder; summary: string },
): Promise<DrainOutcome | Unseen> {
  const begun = Date.now();
  try {
    return await awaits.awaitNodeEmptied.executeWithOptions({ summary }, [order]);
  } catch (error) {
    giveBackOutage(work, { begun, error });
    throw error;
  }
}

function rulesOf({ rules }: Seen["target"]): DrainRules {
  return rules?.drain ?? standardDrain;
}

function noteBlockers({ task, note }: Work, { blockers, key }: DrainOutcome & { outcome: "Blocked" }): string {
  task.blockers = blockers;
  note({ is: "Waits", ...blockedNews(task) });
  return key;
}

function blockedNews({ node, blockers }: Task): { news?: PoolEvent } {
  if (blockers.length === 0) return {}; // the blocker is gone
  const message = `Draining node "${node}": waiting for ${blockersText(blockers)}`;
  return { news: { type: "Warning", reason: "DrainBlocked", message } };
}

function maySetAside({ target }: Seen<"target">, { kind }: Task): boolean {
  return target.rules?.drain.onBlocked === "SetAside" && kind !== "repair";
}
