/** Going back to the last good template, also while somebody applies the bad one again and again. */
import type { Desired } from "../contracts/mod.ts";
import { halt } from "./halt.ts";
import { read, write } from "../proxies.ts";
import { report } from "../status/report.ts";
import { beginChange, tell, warn } from "../state/rollout.ts";
import type { Rollout } from "../state/rollout.ts";
import { troubleOf } from "./trouble.ts";

/** The value of `convergedTemplateHash` on the way back: no template has it, so every newcomer waits to be admitted. */
const holdsAll = "rolling-back";

/** More newcomers than any surge brings. */
const chosenAtMost = 500;

/** How often a bad change that is applied again is taken back before a person is asked. */
const takenBackAtMost = 30;

/** Makes the last good template the desired one; true when the world has to be read again. */
export async function isTurningBack(rollout: Rollout, desired: Desired): Promise<boolean> {
  const { rollBack, memory } = rollout;
  if (!rollBack || desired.specHash === memory.lastGood?.specHash) return false;
  if (desired.specHash !== rollBack.bad.specHash) return leaveWayBack(rollout, desired);
  if (rollBack.reapplied > takenBackAtMost) return await giveUpWayBack(rollout);
  const { by, bad } = rollBack;
  const message = `Going back from revision ${bad.revision} to ${memory.lastGood?.image}: ${bad.reason}`;
  await report(rollout, { phase: "RollingBack", reason: rollBack.kind, message }, { convergedTemplateHash: holdsAll });
  try {
    await chooseUnproven(rollout, desired);
    // Counted whether it changed anything: what cannot be restored must not be tried for ever.
    rollBack.reapplied += 1;
    await write.ensureLastGoodRestored.executeWithOptions(
      { summary: `Restore the template of revision ${memory.lastGood?.revision}` },
      [{ pool: rollout.pool, by, reason: bad.reason }],
    );
    return true;
  } catch (error) {
    return await hasNoWay(rollout, error);
  }
}

/**
 * As soon as the good template is back, machine-controller removes as many bad machines as are not Ready, and of them
 * any, unless some are marked: then those that have not joined, so that none goes that serves.
 */
async function chooseUnproven({ pool, rules }: Rollout, { templateHash }: Desired): Promise<void> {
  if (!rules) return;
  const question = { pool, templateHash, unproven: [], repair: rules.repair, limit: chosenAtMost };
  const seen = await read.readPool.executeWithOptions({ summary: "Read who has not joined" }, [question]);
  await Promise.all(
    [...seen.waiting, ...seen.joining].map(({ id }) =>
      write.ensureVictimMarked.executeWithOptions({ summary: `Choose ${id} to go` }, [{ pool, machine: id }])
    ),
  );
}

// There is nothing to go back to: the bad change stays held, and a person has to apply a good one.
async function hasNoWay(rollout: Rollout, error: unknown): Promise<false> {
  const trouble = troubleOf(error);
  if (trouble.kind !== "halt" || trouble.reason !== "LastGoodMissing") throw error;
  rollout.rollBack = null;
  rollout.memory.left = null;
  warn(rollout, trouble.reason, trouble.message);
  const { lastGood } = rollout.memory;
  await report(rollout, { phase: "Halted", reason: trouble.reason, message: trouble.message }, {
    ...(lastGood ? { convergedTemplateHash: lastGood.templateHash } : {}),
  });
  return false;
}

// Somebody asks for a third thing: that is a change like any other, and the way back is over.
async function leaveWayBack(rollout: Rollout, { specHash }: Desired): Promise<false> {
  const { lastGood } = rollout.memory;
  rollout.rollBack = null;
  const message = "Something else is desired now: the way back is left";
  tell(rollout, "RollBackLeft", message);
  await report(rollout, { phase: "Preparing", reason: "RollBackLeft", message }, {
    ...(lastGood ? { convergedTemplateHash: lastGood.templateHash } : {}),
  });
  beginChange(rollout, specHash);
  return false;
}

async function giveUpWayBack(rollout: Rollout): Promise<true> {
  const { bad, reapplied } = rollout.rollBack ?? { bad: { revision: "" }, reapplied: 0 };
  const message =
    `Revision ${bad.revision} was applied again ${reapplied} times while going back: change it at its source`;
  await halt(rollout, "SpecReapplied", message);
  return true;
}
