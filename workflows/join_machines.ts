/** Sees machines join within their deadlines; one that does not is recreated, a bounded number of times. */
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
  for (const joined of verdict.joined) recordJoin(rollout, joined);
  for (const failure of verdict.failed) await recreate(rollout, desired, failure);
  return verdict.failed.length === 0;
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

async function recreate(rollout: Rollout, desired: Desired, failure: JoinFailure): Promise<void> {
  const attempts = attemptsAt(rollout, desired.revision);
  attempts.used += 1;
  rollout.failedMachines += 1;
  const text = `Machine "${failure.machine}" did not get past "${failure.rung}": ${failure.evidence}`;
  const last = attempts.used >= rollout.attemptsAllowed;
  const message = `${text} (attempt ${attempts.used} of ${rollout.attemptsAllowed})`;
  await report(rollout, { ...rollout.standing, reason: "JoinDeadlineExceeded", message }, {
    events: [{ type: "Warning", reason: "JoinDeadlineExceeded", message }],
  });
  if (last) return; // kept as it is, for people to look at
  delete rollout.booting[failure.machine];
  await write.deleteMachine.executeWithOptions({ summary: `Recreate ${failure.machine}` }, [
    { pool: rollout.pool, machine: failure.machine },
  ]);
}

/** Attempts count per revision: a new one starts afresh. */
export function attemptsAt(rollout: Rollout, revision: string): { revision: string; used: number } {
  if (rollout.attempts.revision !== revision) rollout.attempts = { revision, used: 0 };
  return rollout.attempts;
}

/** No attempt is left for this revision. */
export function isExhausted(rollout: Rollout, revision: string): boolean {
  return attemptsAt(rollout, revision).used >= rollout.attemptsAllowed;
}
