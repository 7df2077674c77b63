/**
 * One machine in, one machine out:
 *   mark the victim → admit the newcomer → it joins → machine-controller picks the victim, which stays held;
 *   and in a round of its own, when enough others are Ready at that moment: drain → let it go → gone.
 * A victim is only ever removed after its replacement is Ready; a newcomer that does not join spares it.
 */
import type { Desired, Member } from "./contracts.ts";
import { joinEnd, joinMachines } from "./join_machines.ts";
import { isPresent, isSame, whileTrue } from "./patience.ts";
import { awaits, write } from "./proxies.ts";
import { report } from "./report.ts";
import { recordReplacement } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";

/** Runs one replacement to its end, or undoes it when the newcomer does not join. */
export async function replaceMachine(
  rollout: Rollout,
  desired: Desired,
  { newcomer, victim }: { newcomer: Member; victim: Member | undefined },
): Promise<void> {
  rollout.booting[newcomer.id] ??= Date.now();
  await enter(rollout, "Joining", { machine: newcomer.id, until: joinEnd(rollout, [newcomer.id]), victim });
  if (victim) await markVictim(rollout, victim);
  await admit(rollout, newcomer);
  const joined = await joinMachines(rollout, desired, [newcomer.id]);
  if (victim) await (joined ? handOver(rollout, desired, { victim, replacedBy: newcomer.id }) : spareVictim(rollout));
  rollout.underway = undefined;
}

/** Drains a machine that machine-controller is removing, lets it go, and sees it gone. */
export async function removeMachine(rollout: Rollout, victim: Member, replacedBy: string): Promise<void> {
  const drained = victim.node ? await drain(rollout, { victim, node: victim.node, replacedBy }) : 0;
  if (drained === undefined) return;
  const until = Date.now() + rollout.durations.gone;
  const { pool } = rollout;
  await enter(rollout, "Removing", { machine: replacedBy, until, victim });
  await write.ensureVictimReleased.executeWithOptions({ summary: `Let ${victim.id} go` }, [
    { pool, machine: victim.id, ...(victim.node ? { node: victim.node } : {}) },
  ]);
  const gone = await whileTrue(
    rollout,
    isPresent,
    () =>
      awaits.awaitMachineGone.executeWithOptions({ summary: `Wait until ${victim.id} is gone` }, [
        { pool, machine: victim.id, until },
      ]),
  );
  rollout.underway = undefined;
  if (!gone || victim.templateHash === rollout.desired?.templateHash) return; // scaled down, not replaced
  const { image, kubelet } = victim;
  recordReplacement(rollout, { machine: victim.id, replacedBy, image, kubelet, drainedSeconds: drained });
}

/** Takes back mark and hold of a victim whose replacement is off; a leaving one runs on, held, until others are Ready. */
export async function spareVictim(rollout: Rollout): Promise<void> {
  const machine = rollout.underway?.victim;
  if (machine) await spare(rollout, machine, false);
}

/** Takes back what an earlier change left on a machine that stays. */
export async function spare(rollout: Rollout, machine: string, letGo: boolean): Promise<void> {
  await write.ensureVictimUnmarked.executeWithOptions({ summary: `Spare ${machine}` }, [
    { pool: rollout.pool, machine, letGo },
  ]);
}

async function markVictim(rollout: Rollout, victim: Member): Promise<void> {
  await write.ensureVictimMarked.executeWithOptions({ summary: `Choose ${victim.id} to go` }, [
    { pool: rollout.pool, machine: victim.id },
  ]);
}

async function admit(rollout: Rollout, newcomer: Member): Promise<void> {
  await write.ensureMachineAdmitted.executeWithOptions({ summary: `Admit ${newcomer.id}` }, [
    { pool: rollout.pool, machine: newcomer.id },
  ]);
}

async function handOver(
  rollout: Rollout,
  desired: Desired,
  { victim, replacedBy }: { victim: Member; replacedBy: string },
): Promise<void> {
  const until = Date.now() + rollout.durations.settle;
  await enter(rollout, "Handing over", { machine: replacedBy, until, victim });
  // Scaled meanwhile, machine-controller may have nobody to remove: look before waiting, as that nudge is long gone.
  rollout.nudged = true;
  await whileTrue(
    rollout,
    isSame(desired),
    () =>
      awaits.awaitVictimLeaving.executeWithOptions({ summary: `Wait for ${victim.id} to be picked` }, [
        { pool: rollout.pool, machine: victim.id, replicas: desired.replicas, until },
      ]),
  );
}

async function drain(
  rollout: Rollout,
  { victim, node, replacedBy }: { victim: Member; node: string; replacedBy: string },
): Promise<number | undefined> {
  const start = Date.now();
  const until = start + rollout.durations.drain;
  await enter(rollout, "Draining", { machine: replacedBy, until, victim });
  await write.ensureNodeCordoned.executeWithOptions({ summary: `Cordon ${node}` }, [{ machine: victim.id, node }]);
  const done = await whileTrue(
    rollout,
    isPresent,
    () => awaits.awaitNodeDrained.executeWithOptions({ summary: `Drain ${node}` }, [{ node, until }]),
  );
  return done && Math.round((Date.now() - start) / 100) / 10;
}

async function enter(
  rollout: Rollout,
  step: string,
  { machine, until, victim }: { machine: string; until: number; victim: Member | undefined },
): Promise<void> {
  rollout.underway = { machine, step, since: Date.now(), until, ...(victim ? { victim: victim.id } : {}) };
  const subject = step === "Joining" || !victim ? machine : victim.id;
  const message = `${step} ${subject}${victim && step === "Joining" ? `, which replaces ${victim.id}` : ""}`;
  await report(rollout, { phase: "Rolling", reason: step.replaceAll(" ", ""), message, until });
}
