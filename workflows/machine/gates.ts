/**
 * Evaluates the gates of a machine or of a wave; an inconclusive gate waits for a person, and is evaluated again
 * meanwhile.
 */
import { condition, isCancellation } from "@temporalio/workflow";
import type { Gate, GateVerdict, Unseen } from "../contracts/mod.ts";
import { planHash } from "../policy/forecast.ts";
import { awaits } from "../proxies.ts";
import { askedGatesOf, noteAskedGates, promoted } from "../state/machines.ts";
import { iso, nudge } from "../state/loop.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import { isLastGood } from "../state/target.ts";
import type { Task } from "../state/tasks.ts";
import { waveName } from "../state/waves.ts";
import { begin, unlessOver } from "./tasks.ts";
import type { Step } from "../policy/turn.ts";
import { giveUp, type GivingUp } from "../state/quarantine.ts";

interface Asked {
  run: Gate["run"];
  /** Identifies this evaluation among all others, for the objects that gates create. */
  key: string;
  machine?: string;
  node?: string;
}

interface Question extends Asked {
  gates: Gate[];
  /** Identifies the key and its gates. */
  name: string;
  /** Returns whether the answer is no longer needed: the gates were promoted, or the policy has other gates. */
  isOver: () => boolean;
}

/** The groups that evaluating gates changes. */
type Asking =
  & Seen<"settings" | "target" | "people" | "memory">
  & Part<"machines" | "waves" | "loop" | "view">;

/** Returns undefined when all gates have passed or were promoted, otherwise the failed gate. */
export async function passGates(rollout: Asking, task: Task, asked: Asked): Promise<string | undefined> {
  try {
    for (;;) {
      if (areUnknown(rollout) && await waitForPolicy(rollout, task) === "Promoted") return ended(rollout, task);
      const gates = gatesOf(rollout, asked);
      if (gates.length === 0) return ended(rollout, task);
      const told = JSON.stringify(gates);
      const isOver = (): boolean => task.doubt === promoted || JSON.stringify(gatesOf(rollout, asked)) !== told;
      const name = planHash([keyOf(rollout, asked), gates]);
      const verdicts = await evaluate(rollout, task, { ...asked, gates, name, isOver });
      const isPromoted = task.doubt === promoted;
      task.doubt = "";
      // A run that ends before the promotion takes effect carries it to the next run.
      if (isPromoted) return undefined;
      if (verdicts) return ended(rollout, task, verdicts);
    }
  } catch (error) {
    // The next run may continue a cancelled evaluation in its remaining time; after an error, it evaluates anew.
    if (!isCancellation(error)) ended(rollout, task);
    throw error;
  }
}

function ended(rollout: Asking, task: Task, verdicts: GateVerdict[] = []): string | undefined {
  noteAskedGates(rollout, task, null);
  const failed = verdicts.find(({ outcome }) => outcome === "Failed");
  return failed && `gate "${failed.gate}" failed: ${failed.message}`;
}

// Returns whether policies conflict and this run has not read rules without a conflict, so that the gates are unknown;
// the last good change does not wait for known gates.
function areUnknown({ target, memory }: Seen<"target" | "memory">): boolean {
  const { rules } = target;
  if (!rules || rules.conflict === null || rules.source !== "none") return false;
  return !isLastGood(target, memory.lastGood);
}

/** Waits until one policy defines the gates, or a person promotes. */
async function waitForPolicy(rollout: Asking, task: Task): Promise<"Promoted" | "Known"> {
  const message = rollout.target.rules?.conflict ?? "";
  noteDoubt(rollout, task, { what: "the gates are unknown: ", message });
  const isOver = (): boolean => task.doubt === promoted || !areUnknown(rollout);
  const { recheck } = rollout.settings.durations;
  while (!await condition(isOver, recheck, { summary: "Wait for one policy that defines the gates" }));
  const isPromoted = task.doubt === promoted;
  task.doubt = "";
  return isPromoted ? "Promoted" : "Known";
}

function gatesOf({ target: { rules } }: Seen<"target">, asked: Asked): Gate[] {
  return (rules?.gates ?? []).filter(({ run }) => run === asked.run);
}

/**
 * Evaluates gates until none is inconclusive, also at scheduled times, as the measured system may be fixed or the
 * machine deleted meanwhile. The key stays the same, so that the Job of a gate does not run again. Returns undefined
 * when the answer is no longer needed.
 */
async function evaluate(rollout: Asking, task: Task, question: Question): Promise<GateVerdict[] | undefined> {
  const { name } = question;
  const before = askedGatesOf(rollout, task);
  if (before?.name === name) task.doubt ||= before.doubt;
  if (question.isOver()) return undefined; // promoted before this run began to evaluate
  for (;;) {
    const verdicts = await ask(rollout, task, question);
    if (question.isOver()) return undefined;
    if (verdicts && "unseenMs" in verdicts) {
      noteAskedGates(rollout, task, null); // the gates have their whole time again
      continue;
    }
    const unclear = verdicts && unclearOf(verdicts);
    if (!unclear) return verdicts;
    noteDoubt(rollout, task, { what: `gate "${unclear.gate}" is inconclusive: `, message: unclear.message });
    noteAskedGates(rollout, task, { name, since: null, doubt: task.doubt });
    const { recheck } = rollout.settings.durations;
    task.until = Date.now() + recheck;
    const summary = `Gate ${unclear.gate} is inconclusive; next check at ${iso(task.until)} (or use promote, retry)`;
    if (await condition(question.isOver, recheck, { summary })) return undefined;
  }
}

async function ask(
  rollout: Asking,
  task: Task,
  { run: _, gates, name, isOver, ...asked }: Question,
): Promise<GateVerdict[] | Unseen | undefined> {
  const { settings: { pool }, target: { rules } } = rollout;
  const before = askedGatesOf(rollout, task);
  const since = (before?.name === name ? before.since : null) ?? Date.now();
  noteAskedGates(rollout, task, { name, since, doubt: task.doubt });
  const within = Math.max(...gates.map((gate) => gate.within));
  const until = since + Math.min(within, asked.machine ? rules?.join.gates ?? within : within);
  task.until = until;
  const key = keyOf(rollout, asked);
  const which = gates.length === 1 ? `gate ${gates[0]?.name}` : `${gates.length} gates`;
  const summary = `Evaluate ${which} for ${task.subject}`;
  return await unlessOver(
    isOver,
    () => awaits.awaitGates.executeWithOptions({ summary }, [{ pool, gates, ...asked, key, since, until }]),
  );
}

/** Returns another key after a retry, so that the gates are evaluated from the start. */
function keyOf({ people: { retriedAt } }: Seen<"people">, { key }: Pick<Asked, "key">): string {
  return [key, ...(retriedAt ? [retriedAt] : [])].join(" ");
}

function unclearOf(verdicts: GateVerdict[]): GateVerdict | undefined {
  if (verdicts.some(({ outcome }) => outcome === "Failed")) return undefined;
  return verdicts.find(({ outcome }) => outcome === "Inconclusive");
}

// Emits one Event for each inconclusive gate; later measurements are not reported again.
function noteDoubt(
  { loop, view }: Part<"loop" | "view">,
  task: Task,
  { what, message }: { what: string; message: string },
): void {
  const [before, isNews] = [task.doubt, !task.doubt.startsWith(what)];
  task.doubt = `${what}${message}`;
  if (isNews) warn(view, "GateInconclusive", `${task.subject}: ${task.doubt}`);
  if (task.doubt !== before) nudge(loop);
}

// Evaluates the gates of a wave; a failed gate gives the change up.

/** Begins to evaluate the gates; when all have passed, the wave has passed. */
export function beginWaveGates(
  rollout: Asking & GivingUp & Part<"waves">,
  { wave: index, upTo }: Step & { kind: "gates" },
): void {
  const { target, waves } = rollout;
  const { templateHash = "" } = target.desired ?? {};
  const now = Date.now();
  const subject = waveName(index);
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
  begin(rollout, task, async () => {
    const key = `${templateHash} ${subject} up to ${upTo} ${target.startedAt}`;
    const failed = await passGates(rollout, task, { run: "EachWave", key });
    if (failed) return giveUp(rollout, { reason: "GateFailed", message: `${subject}: ${failed}` });
    // After a promotion of all remaining waves, this is another wave.
    if (waves.current.index === index) waves.current = { ...waves.current, passed: true };
    noteAskedGates(rollout, task, null); // only now, as the promotion has taken effect
  });
}
