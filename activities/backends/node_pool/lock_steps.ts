/**
 * The steps of an update where nodes update themselves: one that asks is staged, to have it boot is to grant it the lock, and
 * it is back when it gave the lock back. A lock that was granted is never taken away: its node may reboot at any time.
 */
import type { BootOrdered, BootVerdict, Member, PoolRef, StageOutcome } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { isOwnHold } from "../../node/holder.ts";
import { patchLock } from "./lock.ts";
import type { PoolNode } from "./pool_nodes.ts";
import { unlockedHash } from "./target.ts";

/** One node: it is as wanted while it does not ask. */
export function lockMemberOf(pool: PoolRef, node: PoolNode): Member {
  const { name, createdAt, kubelet, isReady, lock } = node;
  const isOurs = isOwnHold(pool, node.cordonedBy);
  return {
    ...{ id: name, node: name, templateHash: lock ? "asks" : unlockedHash, image: "", kubelet, phase: "Ready" },
    ...{ since: createdAt, marked: isOurs, held: isOurs, expendable: false },
    ...(lock ? { staged: true as const } : {}),
    // It may reboot at any time: it counts as out, also where the run that granted it was ended.
    ...(lock?.held ? { ill: illOf(lock.failed || lock.held) } : {}),
    // And nobody uncordons it.
    ...(lock?.failed
      ? { kept: "Failed" as const, failedAt: lock.failed, marked: false }
      : !isReady && !isOurs
      ? { kept: "Down" as const }
      : {}),
  };
}

function illOf(since: number): NonNullable<Member["ill"]> {
  return { why: "The node holds its FleetLock", since, due: since };
}

/** One that asks no more has nothing to wait for. */
export function lockStage({ lock }: PoolNode): StageOutcome {
  return { outcome: lock ? "Staged" : "Booted" };
}

/** Grants it what it asks for, once. One that asks no more is told as ordered: it is seen back at once. */
export async function grantLock(kube: Kube, node: PoolNode): Promise<BootOrdered> {
  let granted = "";
  await patchLock(kube, node, (lock) => {
    // One that failed, and is waited for again, holds it still.
    const held = lock && (lock.held ? { ...lock, failed: 0 } : { ...lock, held: Date.now(), bootId: node.bootId });
    granted = held?.bootId ?? "";
    return held;
  });
  return { outcome: "Ordered", bootId: granted };
}

/** Updated once it holds no lock and is Ready. A place that was granted is kept, whatever became of its node. */
export function lockVerdict(
  { bootId, isReady, lock }: PoolNode,
  isOver: boolean,
): { answer: BootVerdict } | { missing: string } {
  if (!lock?.held && isReady) {
    return { answer: { verdict: "Updated", evidence: "The node released its FleetLock and is Ready" } };
  }
  const isBack = !lock?.held || lock.bootId !== bootId;
  const missing = !lock?.held
    ? "The node released its FleetLock, but is not Ready"
    : `The node has held its FleetLock since ${new Date(lock.held).toISOString()}, ${
      isBack ? `and rebooted (boot ID "${bootId}")` : isReady ? "and has not rebooted" : "and is down"
    }`;
  return isOver ? { answer: { verdict: isBack ? "NotReady" : "Lost", evidence: missing } } : { missing };
}
