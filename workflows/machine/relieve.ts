/**
 * Prepares etcd for the drain of a control plane machine: moves the leadership of etcd to another member, and saves a
 * snapshot of the data. While an etcd check is inconclusive, the machine stays, without a time limit, because no retry
 * restores lost data.
 */
import type { Member, PoolEvent, Relieved, RelieveOrder, SnapshotTaken } from "../contracts/mod.ts";
import { awaits } from "../proxies.ts";
import type { Seen } from "../state/rollout.ts";
import { unlessOver, type Work } from "./work.ts";

/**
 * Returns whether the machines are control planes, so that etcd must be prepared before a drain. For other machines the
 * caller must not await anything here, because the recorded histories of their pools have no such step.
 */
export function needsRelief({ target: { desired } }: Seen<"target">): boolean {
  return desired?.isControlPlane === true;
}

/** Prepares etcd, and returns once the machine can be drained; the drain timeout begins then. */
export async function relieve(work: Work, member: Member): Promise<void> {
  const { settings: { pool }, task, note } = work;
  const { id } = member;
  const [begun, step] = [Date.now(), task.step];
  const name = `${pool.name}-${id}-${new Date(begun).toISOString()}`;
  task.step = "Relieving";
  const { snapshot } = await untilRelieved(work, { member, name });
  const news = snapshotNews(work, id, snapshot);
  if (news) note({ is: "Told", news });
  note({ is: "Delayed", ms: Date.now() - begun });
  task.step = step;
}

/**
 * Prepares etcd in attempts, each with a deadline, until the machine can be drained; reports when the inconclusive
 * checks change.
 */
async function untilRelieved(
  work: Work,
  { member, name }: { member: Member; name: string },
): Promise<Extract<Relieved, { state: "Relieved" }>> {
  const { settings: { durations }, task, note } = work;
  for (let told = "";;) {
    task.until = Date.now() + durations.recheck;
    const seen = await askOnce(work, { ...orderFor(work, member, name), until: task.until });
    if (seen?.state === "Relieved") {
      delete task.etcdDoubts;
      return seen;
    }
    if (!seen) continue;
    task.etcdDoubts = seen.doubts;
    const says = seen.doubts.join("; ");
    if (says === told) continue;
    told = says;
    const message = `Keeping machine "${member.id}" unchanged: ${says}`;
    note({ is: "Waits", news: { type: "Warning", reason: "EtcdInDoubt", message } });
  }
}

/** Returns the order for the next attempt, from the current policy and the current state of the machine. */
function orderFor(
  { target: { rules }, people, machines: { snapshot } }: Work,
  member: Member,
  name: string,
): Omit<RelieveOrder, "until"> {
  const { leaving = [], ill = [], old = [] } = snapshot ?? {};
  const now = [...leaving, ...ill, ...old].find(({ id }) => id === member.id) ?? member;
  const keep = rules?.etcd?.snapshot;
  return {
    machine: member.id,
    isLost: now.lost === true || now.phase === "NotReady",
    taken: people.takenDoubts,
    ...(keep ? { snapshot: { ...keep, name } } : {}),
  };
}

/**
 * Makes one attempt to prepare etcd; returns undefined if a person accepted inconclusive checks or the policy changed
 * meanwhile.
 */
async function askOnce(
  { settings: { pool }, target, people }: Work,
  order: RelieveOrder,
): Promise<Relieved | undefined> {
  const { takenDoubts } = people;
  const rules = JSON.stringify(target.rules?.etcd);
  const summary = `Move etcd leadership away from ${order.machine}`;
  return await unlessOver(
    () => people.takenDoubts !== takenDoubts || JSON.stringify(target.rules?.etcd) !== rules,
    () => awaits.awaitMachineRelieved.executeWithOptions({ summary }, [{ pool, ...order }]),
  );
}

function snapshotNews(
  { target: { rules } }: Seen<"target">,
  machine: string,
  snapshot: SnapshotTaken | null,
): PoolEvent | undefined {
  if (snapshot) {
    const { digest, bytes, at } = snapshot;
    const message = `Saved an etcd snapshot of ${bytes} bytes at ${at} before removing machine "${machine}": ${digest}`;
    return { type: "Normal", reason: "EtcdSaved", message };
  }
  // If the policy requires snapshots, a snapshot is missing only for a machine that is already gone, or if a person has
  // accepted that policies conflict.
  if (rules?.etcd) return undefined;
  const todo = "set etcd.snapshot in the RolloutPolicy";
  const message = `No etcd snapshot is saved before removing machine "${machine}"; ${todo}`;
  return { type: "Warning", reason: "EtcdNotSaved", message };
}
