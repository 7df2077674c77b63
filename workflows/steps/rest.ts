/** Reports a plan, and waits until the next read: for an event, the end of a task, a change of the pool, or a time. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import type { PoolSnapshot } from "../contracts/mod.ts";
import { type Blocked, machinesOf, type Turn } from "../policy/turn.ts";
import { awaits } from "../proxies.ts";
import { iso, isWoken } from "../state/loop.ts";
import type { Part, Seen, Telling } from "../state/rollout.ts";
import { isIdle } from "../state/tasks.ts";
import { show, type Teller } from "../status/report.ts";
import { questionOf } from "./see.ts";

/**
 * How long a pool that waits for a window or a person is still watched after an event (ms); after that, only events and
 * deadlines wake the run.
 */
const watchedAfterNewsMs = 30_000;

/** Blocks that end outside of Kubernetes, so that no event reports their end. */
const endsUnreported: readonly Blocked["reason"][] = ["ProtectedRemain", "NodeUnclear"];

type Resting = Seen<"settings" | "target" | "machines" | "tasks" | "loop" | "view">;

/**
 * Reports the steps that a plan has begun. The function is not async, because another await would not fit recorded
 * histories.
 */
export function reportTurn(rollout: Telling & Part<"loop">, turn: Turn, teller: Teller): Promise<void> {
  rollout.loop.hasNewStage = false;
  return show(rollout, turn, teller);
}

/**
 * Records since when the pool is unchanged. If the `settle` deadline has passed and nothing explains the wait, returns
 * a message about what the run still waits for; otherwise returns InTime.
 */
export function noteSettling(
  rollout: Resting & Part<"loop">,
  turn: Turn,
  pool: PoolSnapshot,
): "InTime" | { overdue: string } {
  const { loop } = rollout;
  const isSettling = isWaitingForNothing(rollout, turn);
  // If the run waited for something else while the pool was unchanged, the `settle` deadline counts from the end of
  // that wait.
  const fingerprint = `${pool.fingerprint}${isSettling ? "" : " at rest"}`;
  if (loop.settling.fingerprint !== fingerprint) loop.settling = { fingerprint, since: Date.now() };
  const isOverdue = isSettling && !isWoken(loop) && Date.now() >= settleEnd(rollout);
  return isOverdue
    ? { overdue: `The pool did not change within the settle deadline; still waiting for ${turn.waitsFor}` }
    : "InTime";
}

async function untilDue(rollout: Resting, turn: Turn, pool: PoolSnapshot): Promise<void> {
  if (isWoken(rollout.loop)) return;
  const until = wakeTime(rollout, turn, isWaitingForNothing(rollout, turn) ? settleEnd(rollout) : Infinity);
  await sleepOrWatch(rollout, pool, { until, watchUntil: watchTime(rollout, turn, { pool, until }) });
}

/** Waits until the next read is due, and reports each new step of the running tasks meanwhile. */
export async function rest(rollout: Telling & Part<"loop">, turn: Turn, pool: PoolSnapshot): Promise<void> {
  const scope = new CancellationScope();
  const resting = scope.run(() => untilDue(rollout, turn, pool));
  const telling = scope.run(() => tellStages(rollout, turn));
  try {
    await Promise.race([resting, telling]);
  } finally {
    scope.cancel();
    await Promise.all([ended(resting), ended(telling)]);
  }
}

async function tellStages(rollout: Telling & Part<"loop">, turn: Turn): Promise<never> {
  const { loop } = rollout;
  for (;;) {
    await condition(() => loop.hasNewStage && !isWoken(loop)); // a reconcile reports steps itself
    loop.hasNewStage = false;
    await CancellationScope.nonCancellable(() => show(rollout, turn));
  }
}

function isWaitingForNothing({ tasks, view }: Seen<"tasks" | "view">, { lookAgainAt }: Turn): boolean {
  return isIdle(tasks) && !view.blocked && lookAgainAt === null;
}

function settleEnd({ loop, settings }: Seen<"loop" | "settings">): number {
  return loop.settling.since + settings.durations.settle;
}

function wakeTime(
  { view, settings: { durations }, target: { publication } }: Seen<"view" | "settings" | "target">,
  { lookAgainAt }: Turn,
  settled: number,
): number {
  const renewal = publication?.renewAt ? Math.max(Date.parse(publication.renewAt), Date.now() + 1000) : Infinity;
  const times = [lookAgainAt ?? Infinity, view.blocked?.until ?? Infinity, settled, renewal];
  return Math.max(Date.now() + 1, Math.min(...times, Date.now() + durations.recheck));
}

/** Returns whether no new machine can be admitted until a running task ends, which wakes the run. */
function isFull({ target: { rules, desired }, tasks }: Seen<"target" | "tasks">): boolean {
  const running = Object.values(tasks.running);
  if (!rules || running.length === 0) return false;
  const replacing = running.filter(({ kind, victim }) => kind === "leave" || victim !== undefined);
  return replacing.length >= machinesOf(rules.budget.machines, desired?.replicas ?? 0);
}

/** Returns until when the pool is watched; 0 if other events report everything that matters. */
function watchTime(
  rollout: Resting,
  turn: Turn,
  { pool, until }: { pool: PoolSnapshot; until: number },
): number {
  const { target, tasks, view, loop, settings: { durations } } = rollout;
  const { replicas = 0 } = target.desired ?? {};
  const { machines, leaving, ready, old } = pool.counts;
  // True while machine-controller is expected to choose a machine to remove, or to create one.
  const isNextOwed = pool.waiting.length === 0 && old > 0 && !isFull(rollout);
  const isOwed = ready > replicas || machines - leaving < replicas || isNextOwed;
  if (!isIdle(tasks) && !isOwed) return 0;
  const news = Math.max(loop.settling.since, loop.stirredAt) + Math.min(watchedAfterNewsMs, durations.settle);
  const isReported = view.blocked === null || !endsUnreported.includes(view.blocked.reason);
  const isPatient = (view.blocked !== null || turn.lookAgainAt !== null) && isReported && isIdle(tasks);
  return isPatient ? Math.min(until, news) : until;
}

async function sleepOrWatch(
  rollout: Seen<"settings" | "target" | "machines" | "loop">,
  pool: PoolSnapshot,
  { until, watchUntil }: { until: number; watchUntil: number },
): Promise<void> {
  const scope = new CancellationScope();
  const summary = `Next check at ${iso(until)}, or on a change`;
  const woken = scope.run(() => condition(() => isWoken(rollout.loop), until - Date.now(), { summary }));
  const isWatched = watchUntil > Date.now() + 50;
  const changed = isWatched ? scope.run(() => watch(rollout, pool, watchUntil)) : woken;
  try {
    // The result of the watch decides whether the pool has changed, and not the time, because the clock of the Temporal
    // worker that ran the watch may be ahead.
    const isNews = await Promise.race([woken.then(() => true), changed]);
    if (!isNews) await woken;
  } finally {
    scope.cancel();
    await Promise.all([ended(woken), ended(changed)]);
  }
}

// Waits until a cancelled wait has ended.
async function ended(wait: Promise<unknown>): Promise<void> {
  await wait.catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}

async function watch(
  rollout: Seen<"settings" | "target" | "machines">,
  { fingerprint }: PoolSnapshot,
  until: number,
): Promise<boolean> {
  const { desired, rules } = rollout.target;
  if (!desired || !rules) return false;
  return await awaits.awaitPoolChanged.executeWithOptions({ summary: "Watch the machines" }, [
    { ...questionOf(rollout, desired, rules), fingerprint, until },
  ]);
}
