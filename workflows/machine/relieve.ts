/**
 * Relieves a machine of a control plane before its drain: moves the leadership of etcd, and saves a snapshot of the
 * data. While an etcd check is inconclusive, the machine stays, without a time limit, as no retry restores lost data.
 */
import type { Member, Relieved, RelieveOrder, SnapshotTaken } from "../contracts/mod.ts";
import { awaits } from "../proxies.ts";
import { nudge } from "../state/loop.ts";
import { postpone } from "../state/machines.ts";
import { type Part, type Seen, tell, warn } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { unlessOver } from "./tasks.ts";

/** The groups that relieving changes. */
export type Relieving = Seen<"settings" | "target" | "people"> & Part<"machines" | "loop" | "view">;

/**
 * Returns whether machines have to be relieved. If not, nothing may be awaited either, as recorded histories have no
 * such step.
 */
export function needsRelief({ target: { desired } }: Seen<"target">): boolean {
  return desired?.isControlPlane === true;
}

/** Returns once the machine can be drained; its drain time begins then. */
export async function relieve(rollout: Relieving, task: Task, member: Member): Promise<void> {
  const { id } = member;
  const [begun, step] = [Date.now(), task.step];
  const name = `${rollout.settings.pool.name}-${id}-${new Date(begun).toISOString()}`;
  task.step = "Relieving";
  const { snapshot } = await untilRelieved(rollout, task, { member, name });
  tellSnapshot(rollout, id, snapshot);
  const ms = Date.now() - begun;
  postpone(rollout.machines, id, ms);
  Object.assign(task, { step, since: task.since + ms, until: task.until + ms });
}

/** Asks in attempts with a deadline; reports changes of the inconclusive checks. */
async function untilRelieved(
  rollout: Relieving,
  task: Task,
  { member, name }: { member: Member; name: string },
): Promise<Extract<Relieved, { state: "Relieved" }>> {
  const { settings: { durations }, view, loop } = rollout;
  for (let told = "";;) {
    task.until = Date.now() + durations.recheck;
    const seen = await askOnce(rollout, { ...orderFor(rollout, member, name), until: task.until });
    if (seen?.state === "Relieved") {
      delete task.etcdDoubts;
      return seen;
    }
    if (!seen) continue;
    task.etcdDoubts = seen.doubts;
    const says = seen.doubts.join("; ");
    if (says === told) continue;
    told = says;
    warn(view, "EtcdInDoubt", `Keeping machine "${member.id}" unchanged: ${says}`);
    nudge(loop);
  }
}

/** Uses the current rules and the current state of the machine. */
function orderFor(
  { target: { rules }, people, machines: { snapshot } }: Relieving,
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

/** Asks once; returns undefined if a person accepted checks, or the rules changed, meanwhile. */
async function askOnce(rollout: Relieving, order: RelieveOrder): Promise<Relieved | undefined> {
  const { settings: { pool }, target, people } = rollout;
  const { takenDoubts } = people;
  const rules = JSON.stringify(target.rules?.etcd);
  const summary = `Hand over the etcd part of ${order.machine}`;
  return await unlessOver(
    () => people.takenDoubts !== takenDoubts || JSON.stringify(target.rules?.etcd) !== rules,
    () => awaits.awaitMachineRelieved.executeWithOptions({ summary }, [{ pool, ...order }]),
  );
}

function tellSnapshot(
  { view, target: { rules } }: Seen<"target"> & Part<"view">,
  machine: string,
  snapshot: SnapshotTaken | null,
): void {
  if (snapshot) {
    const { digest, bytes, at } = snapshot;
    return tell(
      view,
      "EtcdSaved",
      `Saved an etcd snapshot of ${bytes} bytes at ${at} before removing machine "${machine}": ${digest}`,
    );
  }
  // With a snapshot rule, only a machine that is gone has no snapshot.
  if (rules?.etcd) return;
  const todo = "set etcd.snapshot in its RolloutPolicy";
  warn(view, "EtcdNotSaved", `No etcd snapshot is saved before removing machine "${machine}"; ${todo}`);
}
