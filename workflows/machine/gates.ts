/** Asks gates, of one machine or of a wave; what cannot be judged waits for a person, and is asked again meanwhile. */
import { condition, isCancellation } from "@temporalio/workflow";
import type { Gate, GateVerdict, Unseen } from "../contracts/mod.ts";
import { planHash } from "../policy/forecast.ts";
import { awaits } from "../proxies.ts";
import { askedGatesOf, noteAskedGates } from "../state/machines.ts";
import { iso, nudge } from "../state/loop.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import { isLastGood } from "../state/target.ts";
import type { Task } from "../state/tasks.ts";
import { begin, unlessOver } from "./tasks.ts";
import type { Step } from "../policy/turn.ts";
import { giveUp, type GivingUp } from "./quarantine.ts";

interface Asked {
  run: Gate["run"];
  /** Tells this asking from all others, for what gates create. */
  key: string;
  machine?: string;
  node?: string;
}

interface Question extends Asked {
  gates: Gate[];
  /** Of it and its gates. */
  name: string;
  /** Nobody waits for an answer any more: the gates were taken as passed, or the policy has others. */
  isOver: () => boolean;
}

/** What asking gates touches. */
type Asking =
  & Seen<"settings" | "target" | "people" | "memory">
  & Part<"machines" | "waves" | "loop" | "view">;

/** Gives undefined when all have passed or were taken as passed, else what failed. */
export async function passGates(rollout: Asking, task: Task, asked: Asked): Promise<string | undefined> {
  try {
    for (;;) {
      if (areUnknown(rollout) && await waitForPolicy(rollout, task) === "Promoted") return ended(rollout, task);
      const gates = gatesOf(rollout, asked);
      if (gates.length === 0) return ended(rollout, task);
      const told = JSON.stringify(gates);
      const isOver = (): boolean => task.doubt === promoted || JSON.stringify(gatesOf(rollout, asked)) !== told;
      const name = planHash([keyOf(rollout, asked), gates]);
      const verdicts = await judge(rollout, task, { ...asked, gates, name, isOver });
      const isPromoted = task.doubt === promoted;
      task.doubt = "";
      // A run that ends before this has had its effect carries the word to the next one.
      if (isPromoted) return undefined;
      if (verdicts) return ended(rollout, task, verdicts);
    }
  } catch (error) {
    // What was called off may be asked by the next run, by the time that it has; what broke is asked afresh.
    if (!isCancellation(error)) ended(rollout, task);
    throw error;
  }
}

function ended(rollout: Asking, task: Task, verdicts: GateVerdict[] = []): string | undefined {
  noteAskedGates(rollout, task, null);
  const failed = verdicts.find(({ outcome }) => outcome === "Failed");
  return failed && `gate "${failed.gate}" failed: ${failed.message}`;
}

// Policies contradict each other, and this run has not seen them agree: the rules that hold meanwhile have no gates. What
// was good before is not held up by that.
function areUnknown({ target, memory }: Seen<"target" | "memory">): boolean {
  const { rules } = target;
  if (!rules || rules.conflict === null || rules.source !== "none") return false;
  return !isLastGood(target, memory.lastGood);
}

/** Waits until one policy says which gates there are, or somebody says that none matters. */
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
 * Asks until there is no doubt, at times of its own too: somebody may have mended what is measured, or taken the machine
 * away. By the same key, so that a gate's Job is not run anew. Gives undefined when the question is over.
 */
async function judge(rollout: Asking, task: Task, question: Question): Promise<GateVerdict[] | undefined> {
  const { name } = question;
  const before = askedGatesOf(rollout, task);
  if (before?.name === name) task.doubt ||= before.doubt;
  if (question.isOver()) return undefined; // promoted before this run had begun to ask
  for (;;) {
    const verdicts = await ask(rollout, task, question);
    if (question.isOver()) return undefined;
    if (verdicts && "unseenMs" in verdicts) {
      noteAskedGates(rollout, task, null); // they have their whole time again
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

/** After a retry it is another question. */
function keyOf({ people: { retriedAt } }: Seen<"people">, { key }: Pick<Asked, "key">): string {
  return [key, ...(retriedAt ? [retriedAt] : [])].join(" ");
}

function unclearOf(verdicts: GateVerdict[]): GateVerdict | undefined {
  if (verdicts.some(({ outcome }) => outcome === "Failed")) return undefined;
  return verdicts.find(({ outcome }) => outcome === "Inconclusive");
}

// An Event for each gate in doubt; that it still is, and what was measured since, is no news.
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

/** What `promote` writes in the place of a doubt. */
export const promoted = "promoted";

// Asks the gates of a wave; what fails gives the change up.

/** Begins to ask them; when all have passed the wave has. */
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
    // Promoted to the end meanwhile, this is another wave.
    if (waves.current.index === index) waves.current = { ...waves.current, passed: true };
    noteAskedGates(rollout, task, null); // not before: what was promoted has had its effect
  });
}

/** As people count. */
export function waveName(index: number): string {
  return `wave ${index + 1}`;
}
