/**
 * Empties a node: cordons it, then drains it by the rules, which can change meanwhile. What blocks a drain is reported;
 * after the drain timeout, the run keeps waiting, sets the machine aside, or forces the drain.
 */
import type { DrainOrder, DrainOutcome, DrainRules, Member, Unseen } from "../contracts/mod.ts";
import { awaits } from "../proxies.ts";
import { nudge } from "../state/loop.ts";
import { postpone } from "../state/machines.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { giveBackOutage, unlessOver } from "./tasks.ts";

const standardDrain: DrainRules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" };

/** The groups that draining changes. */
export type Draining = Seen<"settings" | "target"> & Part<"machines" | "loop" | "view">;

/** The machine of the node to drain. */
type Drained = Pick<Member, "id" | "node">;

/** Returns the end of the drain timeout for a drain that began at `since` (epoch ms). */
export function drainEnd({ settings, target }: Seen<"settings" | "target">, since: number): number {
  return since + (rulesOf(target).timeout ?? settings.durations.drain);
}

/** Drains the node of a machine; after the timeout, the rules can set the machine aside. */
export async function drain(rollout: Draining, task: Task, { id, node }: Drained): Promise<"Drained" | "SetAside"> {
  if (!node) return "Drained";
  let isCordoned = false;
  for (let known = "";;) {
    const seen = await drainOnce(rollout, task, { node, known, isCordoned });
    isCordoned ||= seen !== undefined && "outcome" in seen;
    if (seen && "unseenMs" in seen) {
      postpone(rollout.machines, id, seen.unseenMs);
      task.since += seen.unseenMs;
      continue;
    }
    if (seen?.outcome === "Drained") return "Drained";
    if (seen) known = noteBlockers(rollout, task, seen);
    if (Date.now() < drainEnd(rollout, task.since) || !maySetAside(rollout, task)) continue;
    setAside(rollout, task);
    return "SetAside";
  }
}

/** Drains until a blocker changes or the time is over; returns undefined if the rules changed meanwhile. */
function drainOnce(
  rollout: Draining,
  task: Task,
  { node, known, isCordoned }: { node: string; known: string; isCordoned: boolean },
): Promise<DrainOutcome | Unseen | undefined> {
  const { settings, target } = rollout;
  const rules = rulesOf(target);
  const end = drainEnd({ settings, target }, task.since);
  const isOver = Date.now() >= end;
  // After the timeout the drain continues in attempts, each with a deadline, that end when a blocker changes.
  const until = isOver ? Date.now() + settings.durations.recheck : end;
  task.until = until;
  const force = isOver && rules.onBlocked === "Force";
  const how = force ? `${node} by force` : node;
  const told = JSON.stringify(rules);
  const order = { pool: settings.pool, machine: task.subject, node, until, rules, known, force };
  return unlessOver(
    () => JSON.stringify(rulesOf(target)) !== told,
    () =>
      isCordoned
        ? awaits.awaitNodeDrained.executeWithOptions({ summary: `Drain ${how}` }, [order])
        : cordonAndDrain(rollout, task, { order, summary: `Cordon and drain ${how}` }),
  );
}

/** Cordons and drains in one activity, so that the history has one entry. */
async function cordonAndDrain(
  rollout: Draining,
  task: Task,
  { order, summary }: { order: DrainOrder; summary: string },
): Promise<DrainOutcome | Unseen> {
  const begun = Date.now();
  try {
    return await awaits.awaitNodeEmptied.executeWithOptions({ summary }, [order]);
  } catch (error) {
    giveBackOutage(rollout, task, { begun, error });
    throw error;
  }
}

function rulesOf({ rules }: Seen["target"]): DrainRules {
  return rules?.drain ?? standardDrain;
}

function noteBlockers(
  { loop, view }: Part<"loop" | "view">,
  task: Task,
  { blockers, key }: DrainOutcome & { outcome: "Blocked" },
): string {
  task.blockers = blockers;
  nudge(loop);
  const [first] = blockers;
  if (!first) return key; // the blocker is gone
  const rest = blockers.length > 1 ? ` and ${blockers.length - 1} more` : "";
  const what = `pod "${first.pod}" of ${first.owner} (${first.why})${rest}`;
  warn(view, "DrainBlocked", `Draining node "${task.node}": waiting for ${what}`);
  return key;
}

function maySetAside({ target }: Seen<"target">, { kind }: Task): boolean {
  return target.rules?.drain.onBlocked === "SetAside" && kind !== "repair";
}

function setAside({ machines, view }: Part<"machines" | "view">, { subject, kind }: Task): void {
  // A set, as a task can begin again and plans count the machines that are set aside.
  machines.setAside = [...new Set([...machines.setAside, subject])];
  delete machines.draining[subject]; // a retry restarts the timeout
  const state = kind === "update"
    ? "the machine stays unchanged and in service"
    : "the machine stays cordoned and held, and counts in the budget";
  const message = `Failed to drain machine "${subject}" in time; ${state}`;
  warn(view, "MachineSetAside", message);
}
