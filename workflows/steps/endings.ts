/** The ways in which a run ends, and the report at each end. */
import { sleep } from "@temporalio/workflow";
import type { Desired, Phase, PoolSnapshot, RollOutResult } from "../contracts/mod.ts";
import { publish, publishBeside, read, spare, write } from "../proxies.ts";
import { beginRollout, type Part, type Seen, type Telling, warn } from "../state/rollout.ts";
import { historyEntry, report, stand } from "../status/report.ts";
import { callOff } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";
import { questionOf } from "./see.ts";
import { giveBackSlots } from "./slots.ts";

/**
 * Reports that every machine runs the desired state, and stores the template whose machines need no admission. After a
 * rollout, this run also answers commands that arrive during the report. After scaling or repair, the report can be a
 * local activity: a signal that arrives meanwhile makes Temporal refuse the end of the run, and a command starts
 * another run. Returns undefined if the profile was edited during a rollback, so that another reconcile handles the
 * edit.
 */
export async function converge(
  rollout: Telling & Part<"target" | "slots" | "memory" | "waves" | "records">,
  desired: Desired,
): Promise<RollOutResult | undefined> {
  const { memory, waves, target } = rollout;
  await giveBackSlots(rollout, true);
  if (memory.rollback) return await arriveBack(rollout, desired);
  if (memory.lastRollback && memory.lastGood?.specHash === desired.specHash) return await stayBack(rollout, desired);
  const { lastGood, lastRollback } = memory;
  memory.lastRollback = null;
  const { specHash, templateHash, revision, image, kubelet } = desired;
  const configDigest = target.rendering?.configDigest ?? "";
  // Scaling and repair are not rollouts, and not part of the history.
  const isNews = waves.rolled || lastGood?.configDigest !== configDigest;
  memory.lastGood = { specHash, templateHash, revision, image, kubelet, configDigest };
  try {
    await report(rollout, { phase: "Converged", ...convergedText(desired) }, {
      by: waves.rolled ? publish : publishBeside(rollout.tasks),
      convergedTemplateHash: templateHash,
      ...(isNews ? { history: historyEntry(rollout, "Converged") } : {}),
    });
  } catch (error) {
    Object.assign(memory, { lastGood, lastRollback }); // otherwise the retry would find no change to report
    throw error;
  }
  waves.rolled = false; // the rollout is reported: a reconcile after this is not part of it
  return ended(rollout, "Converged");
}

/**
 * Ends the run on request of a person and leaves the machines as they are, because there is no other last good template
 * to roll back to.
 */
export async function endAborted(
  rollout: Telling & Part<"slots" | "machines">,
  by: string,
  reason: string,
): Promise<RollOutResult> {
  await releaseAll(rollout);
  await giveBackSlots(rollout, true);
  const message = `Aborted by ${by}${reason ? ` (${reason})` : ""}; machines stay unchanged`;
  warn(rollout.view, "RolloutAborted", message);
  await report(rollout, { phase: "Aborted", reason: "Aborted", message });
  return ended(rollout, "Aborted");
}

/** Deletes all objects created for a MachineDeployment that is being deleted. */
export async function cleanUp(rollout: Telling & Part<"tasks" | "slots" | "target">): Promise<RollOutResult> {
  const { settings: { pool }, tasks, target } = rollout;
  callOff(tasks, () => true);
  stand(rollout, { phase: "Deleting", reason: "Deleting", message: "Removing config, secrets and holds of this pool" });
  await giveBackSlots(rollout, true);
  await write.ensurePoolCleanedUp.executeWithOptions({ summary: "Delete config, secrets and holds" }, [{ pool }]);
  target.cleanedUp = true;
  return ended(rollout, "Deleted");
}

/**
 * Lets Temporal deliver the signals and updates that arrived during local activities: they would get no answer if the
 * run ended now.
 */
export async function hearLast(): Promise<void> {
  await sleep(1, { summary: "Receive pending signals and updates" });
}

/** Ends the run after the pool was deleted; nothing is left to do. */
export async function endGone(rollout: Seen & Part<"tasks" | "slots">): Promise<RollOutResult> {
  callOff(rollout.tasks, () => true);
  await giveBackSlots(rollout, true);
  await hearLast();
  return ended(rollout, rollout.target.cleanedUp ? "Deleted" : "Gone");
}

/**
 * Ends a run that only renewed the credentials of a pool whose rollout was cancelled. If the previous run could not
 * complete the cancellation, for example because of an outage, completes and reports the cancellation instead.
 */
export async function renewOnly(rollout: Telling & Part<"target" | "slots" | "machines">): Promise<RollOutResult> {
  if (rollout.target.isEndOwed) {
    await reportCancelled(rollout);
    return ended(rollout, "Aborted");
  }
  const message = "The rollout stays cancelled; only the credentials were renewed";
  await report(rollout, { phase: "Aborted", reason: "CredentialsRenewed", message });
  return ended(rollout, "Published");
}

/**
 * Handles the cancellation of the run in Temporal: removes marks, holds and cordons from running machines, and reports
 * the end.
 */
export async function stop(rollout: Telling & Part<"target" | "tasks" | "slots" | "machines">): Promise<void> {
  callOff(rollout.tasks, () => true);
  try {
    await reportCancelled(rollout);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    // The run ends as cancelled all the same; the controller starts another run, which releases the remaining machines
    // and reports the end.
    const why = "message" in trouble ? trouble.message : "the pool was deleted";
    stand(rollout, {
      phase: "Aborted",
      reason: "Cancelled",
      message: `Failed to complete the cancellation, so some machines may still be held: ${why}`,
    });
  }
}

async function reportCancelled(rollout: Telling & Part<"target" | "slots" | "machines">): Promise<void> {
  const { view, memory: { lastGood, rollback, lastRollback } } = rollout;
  await seeTarget(rollout);
  await releaseAll(rollout);
  await giveBackSlots(rollout, true);
  const message = "Cancelled; machines that are not admitted yet stay held, and old machines are kept";
  warn(view, "RolloutAborted", message);
  // A rollback holds every new machine. If it is cancelled, the last good template counts as converged; otherwise no
  // later run would admit new machines of that template.
  const wasBack = rollback ?? lastRollback;
  const news = wasBack && lastGood ? { convergedTemplateHash: lastGood.templateHash } : {};
  await report(rollout, { phase: "Aborted", reason: "Cancelled", message }, news);
}

// Reads the desired state if this run has not: a run can be cancelled before its first read, while machines still have
// the holds of the previous run.
async function seeTarget({ settings: { pool }, target }: Seen<"settings"> & Part<"target">): Promise<void> {
  if (target.desired && target.rules) return;
  const seen = await read.readDesired.executeWithOptions({ summary: "Read the desired state" }, [{ pool }]);
  if (seen.state !== "Present") return;
  target.desired = seen.desired;
  target.rules = seen.rules;
}

/**
 * Each list of a snapshot, such as `old`, contains at least this many machines if the pool has them. So if fewer
 * machines are found to release, the snapshot lists all of them.
 */
const namedAtLeast = 50;

/** Maximum number of reads if one snapshot does not name all machines: enough for 10,000 machines. */
const looksAtMost = 100;

/**
 * Removes Ostler's marks, holds and cordons from running machines. With `letGo`, also ends the hold of machines that
 * are being deleted, so that machine-controller completes their deletion, and uncordons machines whose update in place
 * has failed or not ended.
 */
export async function releaseAll(
  rollout: Seen<"settings" | "target"> & Part<"machines">,
  letGo = true,
): Promise<void> {
  const { settings, target: { desired, rules }, machines } = rollout;
  if (!desired || !rules) return;
  const question = { ...questionOf(rollout, desired, rules), limit: 1000 };
  const known = new Set<string>();
  for (let looks = 1;; looks++) {
    const pool = await read.readPool.executeWithOptions({ summary: "Read held machines" }, [question]);
    // During a rollback, a machine whose update failed must not return to service with the failed image.
    const updating = letGo ? Object.keys(machines.updating) : [];
    const found = [...new Set([...boundIn(pool, machines), ...updating])].filter((machine) => !known.has(machine));
    await Promise.all(found.map((machine) => spare(settings.pool, machine, { letGo })));
    for (const machine of found) known.add(machine);
    machines.draining = {};
    if (found.length <= namedAtLeast || looks >= looksAtMost) return;
  }
}

/** Returns machines with marks, holds or cordons of Ostler, as far as the snapshot names them. */
function boundIn(pool: PoolSnapshot, { draining }: Part<"machines">["machines"]): string[] {
  const all = [...pool.old, ...pool.stale, ...pool.leaving];
  const ours = all.filter(({ phase, marked, held }) => phase !== "Held" && (marked || held)).map(({ id }) => id);
  // A machine that is drained because it is unhealthy, and is not being deleted yet, has no mark or hold of Ostler,
  // only its cordon.
  const cordoned = Object.keys(draining).filter((machine) => !pool.leaving.some(({ id }) => id === machine));
  return [...new Set([...ours, ...cordoned])];
}

/** Returns the result of a run. */
function ended(
  { target: { desired, rendering }, records }: Seen<"target" | "records">,
  outcome: RollOutResult["outcome"],
): RollOutResult {
  const { replaced, joins, replacements } = records;
  if (!desired || !rendering) return { outcome, replaced, joins, replacements };
  const { generation, revision, image, kubelet } = desired;
  const { configDigest } = rendering;
  return { outcome, generation, revision, image, kubelet, configDigest, replaced, joins, replacements };
}

function convergedText({ replicas, revision }: Desired): { reason: string; message: string } {
  if (replicas === 0) return { reason: "ScaledToZero", message: "Scaled to zero machines; secrets are published" };
  return { reason: "Converged", message: `${allRun(replicas)} revision ${revision}` };
}

/**
 * Ends a rollback, and adds it to the history of the pool. Returns undefined if the desired spec is not the last good
 * one, because the profile was edited meanwhile.
 */
async function arriveBack(
  rollout: Telling & Part<"target" | "memory" | "waves" | "records">,
  desired: Desired,
): Promise<RollOutResult | undefined> {
  const { memory, waves, view } = rollout;
  const outcome = memory.rollback?.kind === "Abort" ? "Aborted" : "RolledBack";
  const history = historyEntry(rollout, outcome);
  const { text, phase } = backText(rollout, desired);
  memory.lastRollback = memory.rollback;
  warn(view, outcome === "Aborted" ? "RolloutAborted" : "RolledBack", text);
  const news = { convergedTemplateHash: desired.templateHash, history };
  await report(rollout, { phase, reason: phase, message: text }, news);
  // The rollback ends only after its report, because an outage in between would lose its history entry.
  memory.rollback = null;
  waves.rolled = false;
  if (desired.specHash === memory.lastGood?.specHash) return ended(rollout, outcome);
  beginRollout(rollout);
  return undefined;
}

/**
 * Ends a run after a rollback: reports the rollback again, because only scaling, repair or renewal has happened since.
 */
async function stayBack(rollout: Telling, desired: Desired): Promise<RollOutResult> {
  const { text, phase } = backText(rollout, desired);
  await report(rollout, { phase, reason: phase, message: text }, { convergedTemplateHash: desired.templateHash });
  return ended(rollout, phase === "Aborted" ? "Aborted" : "RolledBack");
}

function backText({ memory }: Seen<"memory">, { image, replicas }: Desired): { text: string; phase: Phase } {
  const back = memory.rollback ?? memory.lastRollback;
  const why = back?.reason ? `: ${back.reason}` : "";
  const how = back?.kind === "Abort" ? `aborted by ${back.by}` : "rolled back";
  const text = `${allRun(replicas)} ${image} again; revision ${back?.bad.revision} was ${how}${why}`;
  return { text, phase: back?.kind === "Abort" ? "Aborted" : "RolledBack" };
}

function allRun(replicas: number): string {
  return replicas === 1 ? "The machine runs" : `All ${replicas} machines run`;
}
