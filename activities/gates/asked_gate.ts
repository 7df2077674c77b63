/** One gate over many looks: how often it is looked at, when a breach counts, and the verdict at the end. */
import { ApplicationFailure } from "@temporalio/common";
import type { GateVerdict } from "../../workflows/contracts/mod.ts";
import type { FailureType } from "../../workflows/contracts/mod.ts";
import { attempting } from "../kube/status.ts";
import { lookAtDaemonSets } from "./daemon_sets.ts";
import type { Finding } from "./finding.ts";
import { lookAtJob } from "./job.ts";
import { lookAtNodeCondition } from "./node_condition.ts";
import { lookAtPods } from "./pods.ts";
import { lookAtPrometheus } from "./prometheus.ts";
import type { Subject } from "./subject.ts";

export interface AskedGate {
  subject: Subject;
  /** Epoch ms at which its own time is over. */
  deadline: number;
  last: Finding;
  /** The last look that measured something. */
  measured: Finding | null;
  /** Measurements in a row that were false. */
  breaches: number;
  /** Epoch ms of the next look. */
  dueAt: number;
}

/** Milliseconds between looks: at a machine, at a whole wave, and between measurements of a metric. */
export interface Pace {
  machine: number;
  wave: number;
  metric: number;
}

/** A metric that was false so often in a row is false for good: one reading may be noise. */
const breachesThatFail = 3;

/** Nothing is known of it yet. */
export function newlyAsked(subject: Subject, deadline: number): AskedGate {
  const last: Finding = { state: "Unknown", message: "it was not asked" };
  return { subject, deadline, last, measured: null, breaches: 0, dueAt: 0 };
}

/** Looks when it is time. */
export async function lookAgain(asked: AskedGate, pace: Pace): Promise<void> {
  if (Date.now() < asked.dueAt || asked.last.state === "Failed" || isFinished(asked)) return;
  const seen = await look(asked.subject);
  asked.dueAt = Date.now() + paceOf(asked.subject, pace);
  if (seen.state === "True") asked.breaches = 0;
  if (seen.state === "False") asked.breaches += 1;
  const isMetric = asked.subject.gate.check.kind === "Prometheus";
  asked.last = isMetric && seen.state === "False" && asked.breaches >= breachesThatFail
    ? { state: "Failed", message: `${seen.message}, ${asked.breaches} times in a row` }
    : seen;
  if (asked.last.state !== "Unknown") asked.measured = asked.last;
}

/** It failed for good, or its own time is over and it never held. */
export function isLost({ last, measured, deadline }: AskedGate): boolean {
  return last.state === "Failed" || (Date.now() >= deadline && last.state !== "True" && measured?.state !== "True");
}

/** The verdict if the asking ended now; what was false when it was last measured has failed. */
export function verdictOf({ subject, last, measured }: AskedGate, isOver: boolean): GateVerdict {
  const verdict = (outcome: GateVerdict["outcome"], message: string): GateVerdict => ({
    gate: subject.gate.name,
    outcome,
    message: message.slice(0, 500),
  });
  if (last.state === "True") return verdict("Passed", last.message);
  if (last.state === "Failed" || (isOver && last.state === "False")) return verdict("Failed", last.message);
  if (isOver && measured?.state === "False") {
    return verdict("Failed", `${measured.message}; since then ${last.message}`);
  }
  return verdict("Inconclusive", last.message);
}

// A Job that is complete may be removed while others are still asked; it must not run again.
function isFinished({ subject, last }: AskedGate): boolean {
  return subject.gate.check.kind === "Job" && last.state === "True";
}

function paceOf({ gate, machine }: Subject, pace: Pace): number {
  if (gate.check.kind === "Prometheus") return pace.metric;
  return machine === undefined ? pace.wave : pace.machine;
}

/** The API server does not answer, or does not let us look: both may be mended, and neither says anything about a gate. */
const unmeasured: readonly (string | null | undefined)[] = ["ApiUnavailable", "AccessDenied"] satisfies FailureType[];

// What the API server refuses as wrong, nobody can measure.
async function look(subject: Subject): Promise<Finding> {
  try {
    return await attempting(`ask gate "${subject.gate.name}" of "${subject.pool.name}"`, () => measure(subject));
  } catch (error) {
    if (error instanceof ApplicationFailure && unmeasured.includes(error.type)) {
      return { state: "Unknown", message: error.message };
    }
    throw error;
  }
}

function measure(subject: Subject): Promise<Finding> {
  const { check } = subject.gate;
  if (check.kind === "NodeCondition") return lookAtNodeCondition(subject, check);
  if (check.kind === "DaemonSets") return lookAtDaemonSets(subject, check);
  if (check.kind === "Pods") return lookAtPods(subject, check);
  if (check.kind === "Prometheus") return lookAtPrometheus(subject, check);
  return lookAtJob(subject, check);
}
