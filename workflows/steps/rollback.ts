/** Going back to the last good template, also while somebody applies the bad one again and again. */
import type { Desired, RollOutResult } from "../contracts/mod.ts";
import { read, write } from "../proxies.ts";
import { beginChange, type Rollout, type Seen, tell, type Telling, warn } from "../state/rollout.ts";
import { type News, report } from "../status/report.ts";
import { halt } from "./halt.ts";
import { troubleOf } from "../state/trouble.ts";
import { callOff } from "../machine/tasks.ts";
import { endAborted, releaseAll } from "./endings.ts";
import { badChange, goBack, quarantine } from "../machine/quarantine.ts";

/** Whether the world has to be read again before anything else. */
export type Outcome = "LookAgain" | "GoOn";

/** The value of `convergedTemplateHash` on the way back: no template has it, so every newcomer waits to be admitted. */
const holdsAll = "rolling-back";

/** More newcomers than any surge brings. */
const chosenAtMost = 500;

/** How often a bad change that is applied again is taken back before a person is asked. */
const takenBackAtMost = 30;

/** On the way back, makes the last good template the desired one. */
export async function restoreLastGood(rollout: Rollout, desired: Desired): Promise<Outcome> {
  const { settings: { pool }, memory: { rollback, lastGood } } = rollout;
  if (!rollback || desired.specHash === lastGood?.specHash) return "GoOn";
  if (desired.specHash !== rollback.bad.specHash) return await leaveWayBack(rollout, desired);
  if (rollback.reapplied > takenBackAtMost) return await askPerson(rollout);
  const { by, bad } = rollback;
  const message = `Rolling back from revision ${bad.revision} to ${lastGood?.image}: ${bad.reason}`;
  await report(rollout, { phase: "RollingBack", reason: rollback.kind, message }, { convergedTemplateHash: holdsAll });
  try {
    await chooseUnproven(rollout, desired);
    // Counted whether it changed anything: what cannot be restored must not be tried for ever.
    rollback.reapplied += 1;
    await write.ensureLastGoodRestored.executeWithOptions(
      { summary: `Restore the template of revision ${lastGood?.revision}` },
      [{ pool, by, reason: bad.reason }],
    );
    return "LookAgain";
  } catch (error) {
    return await giveUpRestoring(rollout, error);
  }
}

/**
 * As soon as the good template is back, machine-controller removes as many bad machines as are not Ready, and of them
 * any, unless some are marked: then those that have not joined, so that none goes that serves.
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

// There is nothing to go back to: the bad change stays held, and a person has to apply a good one.
async function giveUpRestoring(rollout: Rollout, error: unknown): Promise<Outcome> {
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

// Somebody asks for a third thing: that is a change like any other, and the way back is over.
async function leaveWayBack(rollout: Rollout, { specHash }: Desired): Promise<Outcome> {
  rollout.memory.rollback = null;
  const message = "Rollback cancelled: the desired template changed";
  tell(rollout.view, "RollbackLeft", message);
  await report(rollout, { phase: "Preparing", reason: "RollbackLeft", message }, convergedNews(rollout));
  beginChange(rollout, specHash);
  return "GoOn";
}

// Nobody holds back newcomers of the last good template any more.
function convergedNews({ memory: { lastGood } }: Seen<"memory">): News {
  return lastGood ? { convergedTemplateHash: lastGood.templateHash } : {};
}

async function askPerson(rollout: Telling): Promise<Outcome> {
  const { bad, reapplied } = rollout.memory.rollback ?? { bad: { revision: "" }, reapplied: 0 };
  const message =
    `Revision ${bad.revision} was applied again ${reapplied} times during the rollback; change it at its source`;
  await halt(rollout, "SpecReapplied", message);
  return "LookAgain";
}

// Stopping by a person's word: nothing of ours is left on a machine, and the pool goes back to the last good template.

/** Begins what somebody asked for; gives a result where there is nothing to go back to. */
export async function answerAbort(rollout: Rollout, desired: Desired): Promise<RollOutResult | undefined> {
  const { people, target, tasks, memory } = rollout;
  if (!people.abortAsked) return undefined;
  target.desired = desired;
  target.publication = undefined; // it may be of another revision
  const { by, reason } = people.abortAsked;
  callOff(tasks, () => true);
  if (!memory.lastGood || memory.lastGood.specHash === desired.specHash) {
    // Asked until the run has ended: neither an outage nor news on the way may make it go on.
    return await endAborted(rollout, by, reason);
  }
  // Those that are leaving stay held until others stand in their place.
  await releaseAll(rollout, false);
  if (!people.abortAsked) return undefined; // somebody has said retry meanwhile
  people.abortAsked = null;
  const bad = badChange(target, by, `aborted by ${by}${reason ? ` (${reason})` : ""}`);
  quarantine(rollout, bad);
  goBack(rollout, { kind: "Abort", by, reason, since: Date.now(), bad, reapplied: 0 });
  return undefined;
}
