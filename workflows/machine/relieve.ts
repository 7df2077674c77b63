/**
 * A machine of a control plane hands on what only it has before it is drained: the lead of etcd, and a copy of the data. While
 * anything about etcd is in doubt it stays, for as long as that takes: what is lost here comes back by no retry.
 */
import type { Member, Relieved, RelieveOrder, SnapshotTaken } from "../contracts/mod.ts";
import { awaits } from "../proxies.ts";
import { nudge } from "../state/loop.ts";
import { postpone } from "../state/machines.ts";
import { type Part, type Seen, tell, warn } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { unlessOver } from "./tasks.ts";

/** What relieving touches. */
export type Relieving = Seen<"settings" | "target" | "people"> & Part<"machines" | "loop" | "view">;

/** Whether machines have anything to hand on. Where they have not, nothing may be awaited either: histories of before did not. */
export function needsRelief({ target: { desired } }: Seen<"target">): boolean {
  return desired?.isControlPlane === true;
}

/** Ends once the machine may be drained, whose time begins then. */
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

/** Each look has a deadline; what is in doubt is told when it changes. */
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

/** By the rules and the state of the machine as they are by now. */
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

/** Undefined when somebody took doubts upon himself, or the rules changed, meanwhile. */
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
  // One that is gone has nothing to keep.
  if (rules?.etcd) return;
  const todo = "set etcd.snapshot in its RolloutPolicy";
  warn(view, "EtcdNotSaved", `No etcd snapshot is saved before removing machine "${machine}"; ${todo}`);
}
