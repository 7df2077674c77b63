/**
 * One machine out: cordon → drain by the rules, which may change meanwhile → let it go → gone.
 * What blocks a drain is shown; after its time it is waited for, set aside, or forced.
 */
import type { DrainOutcome, DrainRules, Member, PoolSnapshot } from "../contracts/mod.ts";
import { awaits, write } from "../proxies.ts";
import { recordReplacement, tell, warn } from "../state/rollout.ts";
import type { Rollout, Task } from "../state/rollout.ts";
import { begin } from "./tasks.ts";
import { unlessOver } from "./unless_over.ts";

/** Of a converged pool nobody has to admit those that come, so that nothing else takes them off. */
const repairsKept = 100;

const standardDrain: DrainRules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" };

/** Begins to drain a machine that machine-controller is removing, lets it go, and sees it gone. */
export function beginRemoval(rollout: Rollout, victim: Member): void {
  const since = sinceOf(rollout, victim);
  const task = removalTask(rollout, victim, since);
  begin(rollout, task, async () => {
    if (await isEmptied(rollout, task, victim)) await letGo(rollout, task, victim);
  });
}

/** Begins to replace an ill machine: machine-controller makes another as soon as this one goes. */
export function beginRepair(rollout: Rollout, ill: Member): void {
  const since = sinceOf(rollout, ill);
  const task: Task = { ...removalTask(rollout, ill, since), kind: "repair", step: "Repairing" };
  tell(rollout, "RepairStarted", `Replacing ${ill.id}: ${ill.ill?.why ?? "it is ill"}`);
  begin(rollout, task, async () => {
    // Nothing answers on a dead node, so nothing can be drained there; any other illness leaves time to move the pods.
    const isDead = ill.phase === "NotReady";
    if (!isDead && !await isEmptied(rollout, task, ill)) return;
    await deleteIll(rollout, task, ill);
  });
}

/** Takes back mark, hold and cordon of a machine that stays; a leaving one runs on, held, unless it is let go. */
export async function spare(rollout: Rollout, machine: string, letGo = false): Promise<void> {
  await write.ensureVictimUnmarked.executeWithOptions({ summary: `Spare ${machine}` }, [
    { pool: rollout.pool, machine, letGo },
  ]);
}

/** When a drain that began at `since` has had its time (epoch ms). */
export function drainEnd(rollout: Rollout, since: number): number {
  return since + (rollout.rules?.drain.timeout ?? rollout.durations.drain);
}

function sinceOf({ draining }: Rollout, { id, templateHash, image, kubelet }: Member): number {
  const begun = draining[id] ??= { since: Date.now(), templateHash, image, kubelet };
  return begun.since;
}

function removalTask(rollout: Rollout, { id, node, templateHash }: Member, since: number): Task {
  return {
    ...{ kind: "leave", subject: id, templateHash, step: "Draining", since, until: drainEnd(rollout, since) },
    ...{ ...(node ? { node } : {}), attempt: 0, blockers: [], doubt: "" },
  };
}

async function isEmptied(rollout: Rollout, task: Task, { id, node }: Member): Promise<boolean> {
  if (!node) return true;
  const { pool } = rollout;
  await write.ensureNodeCordoned.executeWithOptions({ summary: `Cordon ${node}` }, [{ pool, machine: id, node }]);
  for (let known = "";;) {
    const seen = await drainOnce(rollout, task, { node, known });
    if (seen?.outcome === "Drained") return true;
    if (seen) known = noteBlockers(rollout, task, seen);
    if (Date.now() >= drainEnd(rollout, task.since) && isSetAside(rollout, task)) return false;
  }
}

/** One look that lasts until something is news; undefined when the rules changed meanwhile. */
function drainOnce(
  rollout: Rollout,
  task: Task,
  { node, known }: { node: string; known: string },
): Promise<DrainOutcome | undefined> {
  const rules = rollout.rules?.drain ?? standardDrain;
  const isOver = Date.now() >= drainEnd(rollout, task.since);
  // Past its time it is looked at again and again: each look has a deadline, and each is told when something changed.
  const until = isOver ? Date.now() + rollout.durations.recheck : drainEnd(rollout, task.since);
  task.until = until;
  const force = isOver && rules.onBlocked === "Force";
  const summary = force ? `Drain ${node} by force` : `Drain ${node}`;
  const told = JSON.stringify(rules);
  const order = { pool: rollout.pool, node, until, rules, known, force };
  return unlessOver(
    () => JSON.stringify(rollout.rules?.drain ?? standardDrain) !== told,
    () => awaits.awaitNodeDrained.executeWithOptions({ summary }, [order]),
  );
}

function noteBlockers(rollout: Rollout, task: Task, { blockers, key }: DrainOutcome & { outcome: "Blocked" }): string {
  task.blockers = blockers;
  rollout.nudged = true;
  const [first] = blockers;
  if (!first) return key; // what blocked it has eased
  const rest = blockers.length > 1 ? ` and ${blockers.length - 1} more` : "";
  const what = `${first.pod} of ${first.owner} (${first.why})${rest}`;
  warn(rollout, "DrainBlocked", `Draining ${task.node}: ${what}`);
  return key;
}

function isSetAside(rollout: Rollout, task: Task): boolean {
  if (rollout.rules?.drain.onBlocked !== "Quarantine" || task.kind === "repair") return false;
  rollout.setAside = [...rollout.setAside, task.subject];
  delete rollout.draining[task.subject]; // after a retry it has its time again
  const message =
    `Machine "${task.subject}" could not be drained in time: it stays cordoned and held, and counts in the budget`;
  warn(rollout, "MachineSetAside", message);
  return true;
}

async function letGo(rollout: Rollout, task: Task, { id, node }: Member): Promise<void> {
  const drainedSeconds = secondsSince(task.since);
  Object.assign(task, { step: "Removing", until: Date.now() + rollout.durations.gone, blockers: [] });
  rollout.nudged = true;
  await write.ensureVictimReleased.executeWithOptions({ summary: `Let ${id} go` }, [
    { pool: rollout.pool, machine: id, ...(node ? { node } : {}) },
  ]);
  await seeGone(rollout, task);
  recordGone(rollout, id, drainedSeconds);
}

/** Machines that were drained and are listed no more. */
export function missedIn({ leaving, old, ill, counts }: PoolSnapshot, { draining, tasks }: Rollout): string[] {
  if (counts.leaving > leaving.length || counts.old > old.length) return []; // not all are named
  const there = new Set([...leaving, ...old, ...ill, ...Object.values(tasks)].map(nameOf));
  return Object.keys(draining).filter((machine) => !there.has(machine));
}

/** Takes note that they went while one run followed the other, or got well again: then a cordon has to be taken back. */
export async function noteMissed(rollout: Rollout, missed: string[]): Promise<void> {
  await Promise.all(missed.map((machine) => spare(rollout, machine)));
  for (const machine of missed) recordGone(rollout, machine);
}

function nameOf(one: { id: string } | { subject: string }): string {
  return "id" in one ? one.id : one.subject;
}

function recordGone(rollout: Rollout, machine: string, drainedSeconds?: number): void {
  const drain = rollout.draining[machine];
  delete rollout.draining[machine];
  if (!drain || drain.templateHash === rollout.desired?.templateHash) return; // scaled down or repaired, not replaced
  const { image, kubelet, since } = drain;
  const seconds = secondsSince(since);
  const replacedBy = rollout.joins.at(-1)?.machine ?? "";
  recordReplacement(
    rollout,
    { machine, replacedBy, image, kubelet, drainedSeconds: drainedSeconds ?? seconds },
    seconds,
  );
}

async function deleteIll(rollout: Rollout, task: Task, { id, node, templateHash }: Member): Promise<void> {
  const isOwn = templateHash === rollout.desired?.templateHash && !rollout.repaired.includes(id);
  if (isOwn) rollout.repaired = [...rollout.repaired, id].slice(-repairsKept);
  task.until = Date.now() + rollout.durations.gone;
  await write.deleteMachine.executeWithOptions({ summary: `Replace ${id}, which is ill` }, [
    { pool: rollout.pool, machine: id, drain: false, ...(node ? { node } : {}) },
  ]);
  await seeGone(rollout, task);
  delete rollout.draining[id];
}

async function seeGone(rollout: Rollout, { subject, until }: Task): Promise<void> {
  await awaits.awaitMachineGone.executeWithOptions({ summary: `Wait until ${subject} is gone` }, [
    { pool: rollout.pool, machine: subject, until },
  ]);
}

function secondsSince(start: number): number {
  return Math.round((Date.now() - start) / 100) / 10;
}
