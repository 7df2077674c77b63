/**
 * Evaluates the gates of a machine or of a wave. While a gate is inconclusive, the run waits for a person, and
 * evaluates the gate again at scheduled times.
 */
import { condition, isCancellation } from "@temporalio/workflow";
import type { Gate, GateVerdict, PoolEvent, Unseen } from "../contracts/mod.ts";
import { planHash } from "../policy/forecast.ts";
import { awaits } from "../proxies.ts";
import { startClock } from "../state/clock.ts";
import { askedGatesOf, promoted } from "../state/machines.ts";
import { iso } from "../state/loop.ts";
import type { WaveOutcome } from "../state/outcomes.ts";
import type { Seen } from "../state/rollout.ts";
import { isLastGood } from "../state/target.ts";
import type { Task } from "../state/tasks.ts";
import { waveName } from "../state/waves.ts";
import type { Step } from "../policy/turn.ts";
import { type Job, unlessOver, type Work, type Worked } from "./work.ts";

interface Asked {
  run: Gate["run"];
  /** Identifies this evaluation among all others, for the objects that gates create. */
  key: string;
  machine?: string;
  node?: string;
}

interface Question extends Asked {
  gates: Gate[];
  /** Hash of the key and the gates, so that changed gates are evaluated from the start. */
  name: string;
  /** Returns whether the answer is no longer needed: a person promoted the gates, or the policy changed them. */
  isOver: () => boolean;
}

/**
 * Evaluates gates until they have a result. Returns undefined when all have passed or a person promoted them, otherwise
 * a text that names the failed gate and why it failed.
 */
export async function passGates(work: Work, asked: Asked): Promise<string | undefined> {
  const { task } = work;
  try {
    for (;;) {
      if (areUnknown(work) && await waitForPolicy(work) === "Promoted") return ended(work);
      const gates = gatesOf(work, asked);
      if (gates.length === 0) return ended(work);
      const told = JSON.stringify(gates);
      const isOver = (): boolean => task.doubt === promoted || JSON.stringify(gatesOf(work, asked)) !== told;
      const name = planHash([keyOf(work, asked), gates]);
      const verdicts = await evaluate(work, { ...asked, gates, name, isOver });
      const isPromoted = task.doubt === promoted;
      task.doubt = "";
      // The record of the gates stays, because it has the promotion: if this run ends before the promotion takes
      // effect, the next run finds it in the record.
      if (isPromoted) return undefined;
      if (verdicts) return ended(work, verdicts);
    }
  } catch (error) {
    // After a cancellation, the record stays, so that the next run continues the evaluation in its remaining time;
    // after an error, the evaluation begins anew.
    if (!isCancellation(error)) ended(work);
    throw error;
  }
}

function ended({ note }: Work, verdicts: GateVerdict[] = []): string | undefined {
  note({ is: "GatesAsked", asked: null });
  const failed = verdicts.find(({ outcome }) => outcome === "Failed");
  return failed && `gate "${failed.gate}" failed: ${failed.message}`;
}

// Returns whether the gates are unknown, because policies conflict and this run has read no rules without a conflict.
// Returns false for the last good change, which does not wait until its gates are known.
function areUnknown({ target, memory }: Seen<"target" | "memory">): boolean {
  const { rules } = target;
  if (!rules || rules.conflict === null || rules.source !== "none") return false;
  return !isLastGood(target, memory);
}

/** Waits until one policy defines the gates, or a person sends `promote`. */
async function waitForPolicy(work: Work): Promise<"Promoted" | "Known"> {
  const { settings: { durations: { recheck } }, target, task } = work;
  const message = target.rules?.conflict ?? "";
  noteDoubt(work, { what: "the gates are unknown: ", message });
  const isOver = (): boolean => task.doubt === promoted || !areUnknown(work);
  while (!await condition(isOver, recheck, { summary: "Wait for one policy that defines the gates" }));
  const isPromoted = task.doubt === promoted;
  task.doubt = "";
  return isPromoted ? "Promoted" : "Known";
}

function gatesOf({ target: { rules } }: Seen<"target">, asked: Asked): Gate[] {
  return (rules?.gates ?? []).filter(({ run }) => run === asked.run);
}

/**
 * Evaluates the gates, and repeats that at scheduled times until none is inconclusive, because meanwhile the measured
 * system may be fixed or the machine deleted. The key stays the same, so that the Job of a gate does not run again.
 * Returns undefined when the answer is no longer needed.
 */
async function evaluate(work: Work, question: Question): Promise<GateVerdict[] | undefined> {
  const { settings: { durations: { recheck } }, task, note } = work;
  const { name } = question;
  const before = askedGatesOf(work, task);
  if (before?.name === name) task.doubt ||= before.doubt;
  if (question.isOver()) return undefined; // promoted before this run began to evaluate
  for (;;) {
    const verdicts = await ask(work, question);
    if (question.isOver()) return undefined;
    if (verdicts && "unseenMs" in verdicts) {
      note({ is: "GatesAsked", asked: null }); // after an outage, the gates have their whole time again
      continue;
    }
    const unclear = verdicts && unclearOf(verdicts);
    if (!unclear) return verdicts;
    noteDoubt(work, { what: `gate "${unclear.gate}" is inconclusive: `, message: unclear.message });
    note({ is: "GatesAsked", asked: { name, since: null, doubt: task.doubt } });
    task.until = Date.now() + recheck;
    const summary = `Gate ${unclear.gate} is inconclusive; next check at ${iso(task.until)} (or use promote, retry)`;
    if (await condition(question.isOver, recheck, { summary })) return undefined;
  }
}

async function ask(
  work: Work,
  { run: _, gates, name, isOver, ...asked }: Question,
): Promise<GateVerdict[] | Unseen | undefined> {
  const { settings: { pool }, target: { rules }, task, note } = work;
  const before = askedGatesOf(work, task);
  const since = (before?.name === name ? before.since : null) ?? Date.now();
  note({ is: "GatesAsked", asked: { name, since, doubt: task.doubt } });
  const within = Math.max(...gates.map((gate) => gate.within));
  const until = since + Math.min(within, asked.machine ? rules?.join.gates ?? within : within);
  task.until = until;
  const key = keyOf(work, asked);
  const which = gates.length === 1 ? `gate ${gates[0]?.name}` : `${gates.length} gates`;
  const summary = `Evaluate ${which} for ${task.subject}`;
  return await unlessOver(
    isOver,
    () => awaits.awaitGates.executeWithOptions({ summary }, [{ pool, gates, ...asked, key, since, until }]),
  );
}

/**
 * Returns the key with the time of the last `retry` command, so that the gates are evaluated from the start after each
 * `retry`.
 */
function keyOf({ people: { retriedAt } }: Seen<"people">, { key }: Pick<Asked, "key">): string {
  return [key, ...(retriedAt ? [retriedAt] : [])].join(" ");
}

function unclearOf(verdicts: GateVerdict[]): GateVerdict | undefined {
  if (verdicts.some(({ outcome }) => outcome === "Failed")) return undefined;
  return verdicts.find(({ outcome }) => outcome === "Inconclusive");
}

// Emits one Event when a gate becomes inconclusive, and none for later inconclusive measurements of that gate.
function noteDoubt({ task, note }: Work, { what, message }: { what: string; message: string }): void {
  const [before, isNews] = [task.doubt, !task.doubt.startsWith(what)];
  task.doubt = `${what}${message}`;
  if (task.doubt === before) return;
  const news: PoolEvent = { type: "Warning", reason: "GateInconclusive", message: `${task.subject}: ${task.doubt}` };
  note({ is: "Waits", ...(isNews ? { news } : {}) });
}

// Evaluates the gates of a wave; if a gate fails, the change is given up.

/** Prepares a task that evaluates the gates of a wave. */
export function prepareWaveGates(
  { target, ...timed }: Worked,
  { wave: index, upTo }: Step & { kind: "gates" },
): Job {
  const subject = waveName(index);
  startClock(timed, subject);
  const { templateHash = "" } = target.desired ?? {};
  const now = Date.now();
  const task: Task = {
    kind: "gates",
    subject,
    templateHash,
    step: "Gates",
    since: now,
    until: now,
    attempt: 0,
    blockers: [],
    doubt: "",
  };
  return { task, run: (work) => passWave(work, { index, upTo }) };
}

async function passWave(work: Work, { index, upTo }: { index: number; upTo: number }): Promise<WaveOutcome> {
  const { target, task: { templateHash, subject } } = work;
  const key = `${templateHash} ${subject} up to ${upTo} ${target.startedAt}`;
  const failed = await passGates(work, { run: "EachWave", key });
  return failed ? { is: "WaveFailed", message: `${subject}: ${failed}` } : { is: "WavePassed", index };
}
