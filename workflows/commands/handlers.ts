/** Signals, updates and the query of a rollout: thin, only touching its state, and waiting for no more than its first look. */
import { ApplicationFailure, condition, setHandler } from "@temporalio/workflow";
import { commands } from "./commands.ts";
import type { Effect } from "./commands.ts";
import { wrongField } from "./command_fields.ts";
import { describe } from "../status/describe.ts";
import * as messages from "./messages.ts";
import type { Answer, Command } from "./messages.ts";
import { refresh } from "../status/report.ts";
import { noteAnnounced, nudge, stir } from "../state/loop.ts";
import type { Rollout } from "../state/rollout.ts";
import { warn } from "../state/view.ts";

/** Registers every handler; must run before the first await, or an early message is lost. */
export function listen(rollout: Rollout): void {
  setHandler(messages.progress, () => describe(rollout), { description: "Where the rollout is" });
  setHandler(messages.desiredChanged, (told) => noteAnnounced(rollout.loop, told ?? {}), {
    description: "Read the world again",
  });
  const { pause, resume, retry, approve, promote, skip, abort } = messages;
  hear(rollout, { update: pause, signal: messages.pauseRequested, effect: commands.pause });
  hear(rollout, { update: resume, signal: messages.resumeRequested, effect: commands.resume });
  hear(rollout, { update: retry, signal: messages.retryRequested, effect: commands.retry });
  hear(rollout, { update: approve, signal: messages.approveRequested, effect: commands.approve });
  hear(rollout, { update: promote, signal: messages.promoteRequested, effect: commands.promote });
  hear(rollout, { update: skip, signal: messages.skipRequested, effect: commands.skip });
  hear(rollout, { update: abort, signal: messages.abortRequested, effect: commands.abort });
}

interface Hearing {
  update: typeof messages.pause;
  signal: typeof messages.pauseRequested;
  effect: Effect;
}

// The same command as an update for people, who get an answer, and as a signal for tctl and batches.
function hear(rollout: Rollout, { update, signal, effect }: Hearing): void {
  const { target, people, loop, view } = rollout;
  const refuse = (why: string | undefined): void => {
    if (why !== undefined) throw ApplicationFailure.nonRetryable(`Cannot ${update.name}: ${why}`, "CommandRefused");
  };
  const apply = (command: Command): Answer => {
    const message = effect.apply(rollout, command);
    people.heard = true;
    stir(loop);
    refresh(rollout);
    return { phase: view.standing.phase, message };
  };
  // Nothing can be judged yet, and a word that comes first must not be lost under what is read.
  const untilKnown = async (): Promise<void> => {
    if (loop.bugs > 0) nudge(loop); // it may wait before it looks
    await condition(() => target.known);
  };
  const answered = async (command: Command): Promise<Answer> => {
    if (target.known) return apply(command ?? {});
    await untilKnown();
    refuse(effect.refuse(rollout, command ?? {}));
    return apply(command ?? {});
  };
  const validator = (command: Command): void => {
    refuse(wrongField(command) ?? (target.known ? effect.refuse(rollout, command ?? {}) : undefined));
  };
  setHandler(update, answered, { validator, description: `${update.name}: ${effect.takes}` });
  // A signal cannot be refused: one with wrong fields is taken without them, one that makes no sense is told and left.
  setHandler(signal, async (given) => {
    const command = wrongField(given) === undefined ? given ?? {} : {};
    await untilKnown();
    const why = effect.refuse(rollout, command);
    if (why === undefined) return void apply(command);
    warn(view, "CommandIgnored", `Cannot ${update.name}: ${why}`);
    stir(loop);
  }, { description: `${update.name}, without an answer: ${effect.takes}` });
}
