/** Asks the gates of a machine or of a wave until all hold at the same time, one is lost, or the time is over. */
import type { Cluster } from "../cluster.ts";
import { Context } from "@temporalio/activity";
import type { GateQuestion, GateVerdict, PoolRef, Unseen } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { moot } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { machines, readObject } from "../kube/resources.ts";
import { statusOf } from "../kube/status.ts";
import { isLost, lookAgain, newlyAsked, verdictOf } from "./asked_gate.ts";
import type { AskedGate, Pace } from "./asked_gate.ts";
import type { MetricsAccess } from "./prometheus_query.ts";

/** How patiently gates are asked, in milliseconds. */
export interface Patience extends Pace {
  /** Of looking when the time was over before the first look, as after an outage. */
  grace: number;
}

const usualPatience: Patience = { machine: 2000, wave: 10_000, metric: 10_000, grace: 30_000 };

/** How gates are asked. */
export interface GateManner {
  patience?: Patience;
  /** What an administrator allows; anything unless told. */
  metrics?: MetricsAccess | undefined;
}

/**
 * One verdict per gate. At the end of its time a gate that was measured and false has Failed, one that could not be
 * measured is Inconclusive; so are those that another one's failure left unanswered. A machine that is gone is moot.
 */
export function awaitGates(
  kube: Cluster,
  question: GateQuestion,
  { patience = usualPatience, metrics }: GateManner = {},
): Promise<GateVerdict[] | Unseen> {
  const until = judgedAt(question.until, patience.grace);
  const { since = askedAt() } = question;
  const asked = question.gates.map((gate) => {
    const deadline = judgedAt(Math.min(question.until, since + gate.within), patience.grace);
    return newlyAsked({ ...question, kube, gate, until, metrics }, deadline);
  });
  return poll<GateVerdict[] | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // each look tells by itself when the time is over
    every: Math.min(patience.machine, 1000),
    look: () => look(asked, { kube, question, until, patience }),
    unseen: (unseenMs, seen) => Array.isArray(seen) && seen.every(hasPassed) ? seen : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

function hasPassed({ outcome }: GateVerdict): boolean {
  return outcome === "Passed";
}

interface Asking {
  kube: Cluster;
  question: GateQuestion;
  until: number;
  patience: Patience;
}

async function look(
  asked: AskedGate[],
  { kube, question, until, patience }: Asking,
): Promise<{ answer: GateVerdict[] } | { missing: string }> {
  await assureMachine(kube, question);
  await Promise.all(asked.map((gate) => lookAgain(gate, patience)));
  const isOver = Date.now() >= until;
  const isDecided = asked.every(({ last }) => last.state === "True") || asked.some(isLost);
  if (isOver || isDecided) return { answer: asked.map((gate) => verdictOf(gate, isOver || isLost(gate))) };
  const open = asked.filter(({ last }) => last.state !== "True");
  return {
    missing: open.map(({ subject, last }) => `gate "${subject.gate.name}": ${last.message}`).join("; ").slice(0, 1000),
  };
}

async function assureMachine(kube: Cluster, { pool, machine }: GateQuestion): Promise<void> {
  if (machine === undefined) return;
  const isGone = await isMachineGone(kube, pool, machine);
  if (isGone) throw moot("MachineGone", `Cannot ask the gates of machine "${machine}": it is gone`);
}

async function isMachineGone(kube: Cluster, pool: PoolRef, machine: string): Promise<boolean> {
  const name = { namespace: pool.namespace, name: machine };
  // Any other trouble is for the gates to tell.
  if (pool.kind !== undefined) {
    return await backendOf(kube, pool).state({ pool, machine }).then((state) => state === undefined, () => false);
  }
  return await readObject(kube, machines, name).then(() => false, (error) => statusOf(error) === 404);
}

// What nobody could look at in time is neither success nor failure: it is looked at for a while yet.
function judgedAt(deadline: number, grace: number): number {
  return deadline <= Date.now() ? Date.now() + grace : deadline;
}

// A gate's own time begins when the question was put, whichever try this is.
function askedAt(): number {
  return Context.current().info.scheduledTimestampMs ?? Date.now();
}
