/** Rolls back to the last good template, also while a client keeps applying the failed one. */
import { patched } from "@temporalio/workflow";
import type { Desired, Rollback, RollOutResult } from "../contracts/mod.ts";
import { patches } from "../patches.ts";
import { read, write } from "../proxies.ts";
import { beginChange, type Part, type Seen, tell, type Telling, warn } from "../state/rollout.ts";
import { type News, report } from "../status/report.ts";
import { halt } from "./halt.ts";
import { troubleOf } from "../state/trouble.ts";
import { badChange, goBack, quarantine } from "../state/quarantine.ts";
import { isBadAgain, isLastGood } from "../state/target.ts";
import { callOff } from "../state/tasks.ts";
import { endAborted, releaseAll } from "./endings.ts";

/** LookAgain: the reconcile ends, and the next one reads everything again. GoOn: the reconcile continues. */
export type Next = "LookAgain" | "GoOn";

/**
 * The value of `convergedTemplateHash` during a rollback: no template has it, so every new machine waits for admission.
 */
const holdsAll = "rolling-back";

/** Maximum number of machines that have not joined and are read in order to mark them: more than any surge creates. */
const chosenAtMost = 500;

/** How often a failed change that is applied again is reverted before a person has to act. */
const takenBackAtMost = 30;

/** The groups of the state that a rollback changes. */
type RollingBack =
  & Telling
  & Part<"target" | "people" | "waves" | "machines" | "records" | "tasks" | "memory" | "loop">;

/**
 * During a rollback, writes the last good template into the pool if the failed change is desired, and returns
 * LookAgain; if the failed change was applied again too often, halts instead. Returns GoOn if nothing has to be
 * restored, or if the rollback ends because a new change is desired or the last good template no longer exists.
 */
export async function restoreLastGood(rollout: RollingBack, desired: Desired): Promise<Next> {
  const { settings: { pool }, memory } = rollout;
  const { rollback, lastGood } = memory;
  if (!rollback || isLastGood({ desired }, memory)) return "GoOn";
  if (!isBadAgain(desired, memory)) return await leaveWayBack(rollout, desired);
  noteConfig(rollout, rollback, desired);
  if (rollback.reapplied > takenBackAtMost) return await askPerson(rollout);
  const { by, bad } = rollback;
  const { specHash, templateHash } = desired;
  const message = `Rolling back from revision ${bad.revision} to ${lastGood?.image}: ${bad.reason}`;
  await report(rollout, { phase: "RollingBack", reason: rollback.kind, message }, { convergedTemplateHash: holdsAll });
  let isOrdered = false;
  try {
    await chooseUnproven(rollout, desired);
    // The attempt counts even if nothing changed, because a template that cannot be restored must not be retried
    // forever.
    rollback.reapplied += 1;
    isOrdered = true;
    await write.ensureLastGoodRestored.executeWithOptions(
      { summary: `Restore the template of revision ${lastGood?.revision}` },
      [{ pool, by, reason: bad.reason, bad: { specHash, templateHash } }],
    );
    return "LookAgain";
  } catch (error) {
    if (isOrdered && isRetriedLater(error) && patched(patches.failedRestore)) rollback.reapplied -= 1;
    return await giveUpRestoring(rollout, error);
  }
}

// Returns whether the run waits before it tries to restore again. Such an attempt need not count, because it neither
// shows that another client applied the bad change, nor is repeated without a pause.
function isRetriedLater(error: unknown): boolean {
  return ["halt", "unreachable"].includes(troubleOf(error).kind);
}

/**
 * Marks machines that have not joined. Once the good template is restored, machine-controller removes as many bad
 * machines as are not Ready, and prefers marked ones. Without marks it could remove machines that serve.
 */
async function chooseUnproven(
  { settings: { pool }, target: { rules } }: Seen<"settings" | "target">,
  { templateHash }: Desired,
): Promise<void> {
  if (!rules) return;
  const question = { pool, templateHash, unproven: [], repair: rules.repair, limit: chosenAtMost };
  const seen = await read.readPool.executeWithOptions({ summary: "Read machines that have not joined" }, [question]);
  await Promise.all(
    [...seen.waiting, ...seen.joining].map(({ id }) =>
      write.ensureVictimMarked.executeWithOptions({ summary: `Mark ${id} for removal` }, [{ pool, machine: id }])
    ),
  );
}

// Ends the rollback if the last good template no longer exists: new machines of the failed change stay held, and a
// person has to apply a good template.
async function giveUpRestoring(rollout: Telling & Part<"memory">, error: unknown): Promise<Next> {
  const trouble = troubleOf(error);
  if (trouble.kind !== "halt" || trouble.reason !== "LastGoodMissing") throw error;
  const { memory, view } = rollout;
  memory.rollback = null;
  memory.lastRollback = null;
  warn(view, trouble.reason, trouble.message);
  const { reason, message } = trouble;
  await report(rollout, { phase: "Halted", reason, message }, convergedNews(rollout));
  return "GoOn";
}

// Once the pool is pinned to the last good profile, the abandoned template has another `specHash`. The template is
// quarantined with this hash, too, because `retry` ends the pin for the quarantined hash.
function noteConfig(rollout: Part<"memory" | "view">, rollback: Rollback, { specHash, revision }: Desired): void {
  if (specHash === rollback.bad.specHash) return;
  rollback.bad = { ...rollback.bad, specHash, revision };
  quarantine(rollout, rollback.bad);
}

// A spec that is neither the failed nor the last good one is a new change, which ends the rollback.
async function leaveWayBack(rollout: RollingBack, desired: Desired): Promise<Next> {
  rollout.memory.rollback = null;
  const message = "Rollback cancelled: the desired template changed";
  tell(rollout.view, "RollbackLeft", message);
  // If the report fails, this function does not run again, and the new change must not have the failures of the old
  // one.
  const isBegunFirst = patched(patches.leftRollback);
  if (isBegunFirst) beginChange(rollout, desired);
  await report(rollout, { phase: "Preparing", reason: "RollbackLeft", message }, convergedNews(rollout));
  if (!isBegunFirst) beginChange(rollout, desired);
  return "GoOn";
}

// Returns the part of a report that ends the hold of new machines of the last good template.
function convergedNews({ memory: { lastGood } }: Seen<"memory">): News {
  return lastGood ? { convergedTemplateHash: lastGood.templateHash } : {};
}

async function askPerson(rollout: Telling): Promise<Next> {
  const { bad, reapplied } = rollout.memory.rollback ?? { bad: { revision: "" }, reapplied: 0 };
  const message =
    `Revision ${bad.revision} was applied again ${reapplied} times during the rollback; change the spec in the ` +
    "source that applies it, such as Git";
  await halt(rollout, "SpecReapplied", message);
  return "LookAgain";
}

// Aborts on request of a person: removes marks, holds and cordons of Ostler, and rolls back to the last good template.

/**
 * Begins an abort if a person has requested one. Returns a result, which ends the run, if there is no other last good
 * template to roll back to; otherwise undefined.
 */
export async function answerAbort(
  rollout: RollingBack & Part<"slots">,
  desired: Desired,
): Promise<RollOutResult | undefined> {
  const { people, target, tasks, memory } = rollout;
  if (!people.abortAsked) return undefined;
  target.desired = desired;
  target.publication = undefined; // the publication may be of another revision
  const { by, reason } = people.abortAsked;
  callOff(tasks, () => true);
  if (!memory.lastGood || memory.lastGood.specHash === desired.specHash) {
    // The request stays until the run has ended, so that neither an outage nor an event cancels the abort.
    return await endAborted(rollout, by, reason);
  }
  // Machines that are being deleted stay held until others have replaced them.
  await releaseAll(rollout, false);
  if (!people.abortAsked) return undefined; // a person has sent retry meanwhile
  people.abortAsked = null;
  const bad = badChange(target, by, `aborted by ${by}${reason ? ` (${reason})` : ""}`);
  quarantine(rollout, bad);
  goBack(rollout, { kind: "Abort", by, reason, since: Date.now(), bad, reapplied: 0 });
  return undefined;
}
