/**
 * Handles the signals, the updates and the query of a rollout. Handlers only change the state of the run, and wait for
 * nothing but the first read of the pool. If the run ends before that read, it passes commands that arrived as signals
 * on to the next run, and refuses commands that arrived as updates.
 */
import { ApplicationFailure, condition, patched, setHandler } from "@temporalio/workflow";
import type { WaitingCommand } from "../contracts/mod.ts";
import { type Commanded, commands, type Effect, wrongField } from "./commands.ts";
import { patches } from "../patches.ts";
import { describe } from "../status/describe.ts";
import * as messages from "./messages.ts";
import type { Answer, Command } from "./messages.ts";
import { refresh } from "../status/report.ts";
import { noteAnnounced, nudge, stir } from "../state/loop.ts";
import { endWaiting, keepWaiting } from "../state/people.ts";
import { type Seen, warn } from "../state/rollout.ts";

/** Registers every handler; must run before the first await, or an early message is lost. */
export function listen(rollout: Commanded): void {
  setHandler(messages.progress, () => describe(rollout), { description: "Progress of the rollout" });
  setHandler(messages.desiredChanged, (told) => noteAnnounced(rollout.loop, told ?? {}), {
    description: "Read the pool again",
  });
  const { pause, resume, retry, approve, promote, skip, abort } = messages;
  const effects = Object.entries(commands);
  for (const waiting of rollout.people.waiting) {
    const [name, effect] = effects.find(([each]) => each === waiting.name) ?? [];
    // A command from the previous run is not new, so it does not cause a read before the scheduled time.
    if (name && effect) void applyOnceKnown(rollout, { name, effect, waiting });
  }
  register(rollout, { update: pause, signal: messages.pauseRequested, effect: commands.pause });
  register(rollout, { update: resume, signal: messages.resumeRequested, effect: commands.resume });
  register(rollout, { update: retry, signal: messages.retryRequested, effect: commands.retry });
  register(rollout, { update: approve, signal: messages.approveRequested, effect: commands.approve });
  register(rollout, { update: promote, signal: messages.promoteRequested, effect: commands.promote });
  register(rollout, { update: skip, signal: messages.skipRequested, effect: commands.skip });
  register(rollout, { update: abort, signal: messages.abortRequested, effect: commands.abort });
}

interface Registration {
  update: typeof messages.pause;
  signal: typeof messages.pauseRequested;
  effect: Effect;
}

interface NamedEffect {
  name: string;
  effect: Effect;
}

function apply(rollout: Commanded, { effect }: NamedEffect, command: Command): Answer {
  const { people, loop, view } = rollout;
  const message = effect.apply(rollout, command);
  people.heard = true;
  stir(loop);
  refresh(rollout);
  return { phase: view.standing.phase, message };
}

// Waits for the first read of the pool: before it, a command cannot be validated, and the read would overwrite the
// effect of the command.
async function firstRead({ target, loop }: Seen<"target" | "loop">): Promise<"Known" | "Over"> {
  await condition(() => target.known || loop.over !== "");
  return target.known ? "Known" : "Over";
}

async function applyOnceKnown(
  rollout: Commanded,
  { waiting, ...named }: NamedEffect & { waiting: WaitingCommand },
): Promise<void> {
  if (await firstRead(rollout) === "Over") return;
  endWaiting(rollout.people, waiting);
  applySignal(rollout, named, waiting.fields);
}

// Returns why a command that is already in the history is refused. Version 0.1.0 may have answered that command by its
// own rules, and a replay must repeat the answer. Validators of updates do not need this, because they never replay.
function refusalOf(rollout: Seen, effect: Effect, command: Command): string | undefined {
  const why = effect.refuse(rollout, command);
  const before = (effect.refuseOf010 ?? effect.refuse)(rollout, command);
  const isSame = (why === undefined) === (before === undefined);
  return isSame || patched(patches.refusals) ? why : before;
}

// A signal cannot be refused: an invalid one is reported and dropped.
function applySignal(rollout: Commanded, named: NamedEffect, command: Command): void {
  const why = refusalOf(rollout, named.effect, command);
  if (why === undefined) return void apply(rollout, named, command);
  warn(rollout.view, "CommandIgnored", `Cannot ${named.name}: ${why}`);
  stir(rollout.loop);
}

// Registers a command as an update, which answers people, and as a signal, for tctl and batches.
function register(rollout: Commanded, { update, signal, effect }: Registration): void {
  const { target, people, loop } = rollout;
  const named = { name: update.name, effect };
  const refuse = (why: string | undefined): void => {
    if (why !== undefined) throw ApplicationFailure.nonRetryable(`Cannot ${update.name}: ${why}`, "CommandRefused");
  };
  const requestRead = (): void => {
    if (loop.bugs > 0) nudge(loop); // after an internal error, the run may wait before its first read
  };
  const answered = async (command: Command): Promise<Answer> => {
    if (target.known) return apply(rollout, named, command ?? {});
    requestRead();
    if (await firstRead(rollout) === "Over") refuse(`${loop.over}; send the command again`);
    refuse(refusalOf(rollout, effect, command ?? {}));
    return apply(rollout, named, command ?? {});
  };
  const validator = (command: Command): void => {
    refuse(wrongField(command) ?? (target.known ? effect.refuse(rollout, command ?? {}) : undefined));
  };
  setHandler(update, answered, { validator, description: `${update.name}: ${effect.takes}` });
  // A signal with invalid fields is treated as a signal without fields.
  setHandler(signal, async (given) => {
    const command = wrongField(given) === undefined ? given ?? {} : {};
    const waiting = { name: update.name, fields: { ...command } };
    if (!target.known) {
      requestRead();
      keepWaiting(people, waiting);
    }
    await applyOnceKnown(rollout, { ...named, waiting });
  }, { description: `${update.name}, without an answer: ${effect.takes}` });
}
