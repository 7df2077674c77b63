/**
 * Evaluates the gates of a machine or a wave until all are true at the same time, one has failed, or the time is over.
 */
import type { Cluster } from "../cluster.ts";
import { Context } from "@temporalio/activity";
import type { GateQuestion, GateVerdict, PoolRef, Unseen } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { moot } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { sideBySide } from "../kube/status.ts";
import { isLost, lookAgain, newlyAsked, verdictOf } from "./asked_gate.ts";
import type { AskedGate, Pace } from "./asked_gate.ts";
import type { MetricsAccess } from "./prometheus_query.ts";

/** The pace of evaluating gates, in milliseconds. */
export interface Patience extends Pace {
  /** Time for evaluations if the deadline has already passed when they begin, for example after an outage. */
  grace: number;
}

const defaultPatience: Patience = { machine: 2000, wave: 10_000, metric: 10_000, grace: 30_000 };

/** How gates are evaluated. */
interface GateManner {
  patience?: Patience;
  /** Prometheus servers that an administrator allows; none by default. */
  metrics?: MetricsAccess | undefined;
}

/**
 * Returns one verdict per gate. When the time ends, a gate whose last measurement was false has Failed, and a gate that
 * could not be measured is Inconclusive. When one gate fails earlier, the evaluation of all gates ends, and the other
 * gates that are not true yet are Inconclusive. Returns Unseen after a time in which the API server was unavailable,
 * unless all gates are true. Throws Moot (MachineGone) if the machine was deleted.
 */
export function awaitGates(
  kube: Cluster,
  question: GateQuestion,
  { patience = defaultPatience, metrics }: GateManner = {},
): Promise<GateVerdict[] | Unseen> {
  const until = judgedAt(question.until, patience.grace);
  const { since = askedAt() } = question;
  const asked = question.gates.map((gate) => {
    const deadline = judgedAt(Math.min(question.until, since + gate.within), patience.grace);
    return newlyAsked({ ...question, kube, gate, until, metrics }, deadline);
  });
  return poll<GateVerdict[] | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // at the deadline, the verdicts are a result, not an error
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
  await sideBySide(...asked.map((gate) => lookAgain(gate, patience)));
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
  if (isGone) {
    throw moot("MachineGone", `Failed to evaluate the gates of machine "${machine}": the machine was deleted`);
  }
}

async function isMachineGone(kube: Cluster, pool: PoolRef, machine: string): Promise<boolean> {
  // If the machine cannot be read, the evaluation continues, because its gates may not need the API server.
  return await backendOf(kube, pool).state({ pool, machine }).then((state) => state === undefined, () => false);
}

// Returns the deadline; if it passed before the evaluation began, as in an outage, returns the time `grace` from now.
function judgedAt(deadline: number, grace: number): number {
  return deadline <= Date.now() ? Date.now() + grace : deadline;
}

// The time of a gate begins when the activity was scheduled, so that a retry of the activity does not extend it.
function askedAt(): number {
  return Context.current().info.scheduledTimestampMs ?? Date.now();
}
