/** Signals, updates and the query of a rollout: thin, synchronous, and only touching its state. */
import { ApplicationFailure, setHandler } from "@temporalio/workflow";
import * as messages from "./messages.ts";
import type { Answer, Request } from "./messages.ts";
import { describe } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";

/** Registers every handler; must run before the first await, or an early message is lost. */
export function listen(rollout: Rollout): void {
  setHandler(messages.progress, () => describe(rollout), { description: "Where the rollout is" });
  setHandler(messages.desiredChanged, () => void (rollout.nudged = true), { description: "Read the world again" });
  command(rollout, { update: messages.pause, signal: messages.pauseRequested, run: pause });
  command(rollout, { update: messages.resume, signal: messages.resumeRequested, run: resume });
  command(rollout, { update: messages.retry, signal: messages.retryRequested, run: retry });
}

interface Command {
  update: typeof messages.pause;
  signal: typeof messages.pauseRequested;
  run: (rollout: Rollout, request: Request) => void;
}

// The same command as an update for people, who get an answer, and as a signal for tctl and batches.
function command(rollout: Rollout, { update, signal, run }: Command): void {
  const answered = (request: Request): Answer => {
    run(rollout, request);
    return { phase: rollout.standing.phase, message: rollout.standing.message };
  };
  setHandler(update, answered, { validator: validate, description: `${update.name}: {by, reason}` });
  setHandler(signal, (request) => {
    if (isRequest(request)) run(rollout, request);
  }, { description: `${update.name}, without an answer: {by, reason}` });
}

function pause(rollout: Rollout, request: Request): void {
  rollout.paused ??= { by: request.by ?? "unknown", reason: request.reason ?? "", since: Date.now() };
  rollout.nudged = true;
}

function resume(rollout: Rollout): void {
  rollout.paused = null;
  rollout.nudged = true;
}

function retry(rollout: Rollout): void {
  rollout.attempts = { revision: "", used: 0 };
  // A machine that ran out of time gets a fresh start with it.
  rollout.booting = {};
  rollout.nudged = true;
}

function validate(request: Request): void {
  if (!isRequest(request)) {
    throw ApplicationFailure.nonRetryable(
      'Cannot take the request: one object {"by", "reason"} of texts is needed, with nothing else in it',
      "InvalidInput",
    );
  }
}

function isRequest(request: unknown): request is Request {
  if (typeof request !== "object" || request === null) return false;
  return Object.entries(request).every(([key, value]) => ["by", "reason"].includes(key) && typeof value === "string");
}
