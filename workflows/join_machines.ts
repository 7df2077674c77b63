/** Sees machines join within their deadlines; those that do not are recreated, a bounded number of times. */
import type { Desired, JoinFailure, JoinVerdict } from "./contracts.ts";
import { joinDeadlines } from "./policy/join_ladder.ts";
import { isSameChange, whileTrue } from "./patience.ts";
import { awaits, write } from "./proxies.ts";
import { report } from "./report.ts";
import { recordJoin } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";

/** True when all of them joined; false when the world changed or a machine failed and was dealt with. */
export async function joinMachines(rollout: Rollout, desired: Desired, machines: string[]): Promise<boolean> {
  const verdict = await whileTrue(rollout, isSameChange(desired), () => ladder(rollout, desired, machines));
  if (!verdict) return false;
  const { joined, failed, gone } = verdict.done;
  for (const each of joined) recordJoin(rollout, each);
  for (const machine of gone) delete rollout.booting[machine];
  if (failed.length > 0) await recreate(rollout, failed);
  return joined.length === machines.length;
}

/** Absolute end of the wait for these machines (epoch ms). */
export function joinEnd(rollout: Rollout, machines: string[]): number {
  const starts = machines.map((machine) => rollout.booting[machine] ?? Date.now());
  return Math.max(...starts.map((start) => joinDeadlines(start, rollout.durations).ready));
}

function ladder(rollout: Rollout, desired: Desired, machines: string[]): Promise<JoinVerdict> {
  const now = Date.now();
  const climbing = machines.map((machine) => {
    const start = rollout.booting[machine] ??= now;
    return { machine, deadlines: joinDeadlines(start, rollout.durations) };
  });
  const summary = `Wait for ${machines.length === 1 ? machines[0] : `${machines.length} machines`} to join`;
  return awaits.awaitMachinesJoined.executeWithOptions({ summary }, [
    { pool: rollout.pool, kubelet: desired.kubelet, machines: climbing },
  ]);
}

async function recreate(rollout: Rollout, failed: JoinFailure[]): Promise<void> {
  const attempts = attemptsNow(rollout);
  attempts.used += 1;
  rollout.failedMachines += failed.length;
  const isLast = attempts.used > rollout.attemptsAllowed;
  const next = isLast ? "it is kept to look at" : `recreating it, ${attempts.used} of ${rollout.attemptsAllowed}`;
  const messages = failed.map((each) => `Machine "${each.machine}" did not get past "${each.rung}": ${each.evidence}`);
  await report(rollout, { ...rollout.standing, reason: "JoinDeadlineExceeded", message: messages[0] ?? "" }, {
    events: messages.map((text) => ({
      type: "Warning",
      reason: "JoinDeadlineExceeded",
      message: `${text}; ${next}`,
    })),
  });
  if (!isLast) await Promise.all(failed.map(({ machine }) => remove(rollout, machine)));
}

async function remove(rollout: Rollout, machine: string): Promise<void> {
  delete rollout.booting[machine];
  await write.deleteMachine.executeWithOptions({ summary: `Recreate ${machine}` }, [{ pool: rollout.pool, machine }]);
}

/** Attempts count per change: a mended template or profile starts afresh. */
function attemptsNow(rollout: Rollout): { change: string; used: number } {
  const change = `${rollout.desired?.revision} ${rollout.rendering?.configDigest}`;
  if (rollout.attempts.change !== change) rollout.attempts = { change, used: 0 };
  return rollout.attempts;
}

/** No attempt is left for this change. */
export function isExhausted(rollout: Rollout): boolean {
  return attemptsNow(rollout).used > rollout.attemptsAllowed;
}
