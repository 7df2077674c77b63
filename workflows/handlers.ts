/** Signals, updates and the query of a rollout: thin, synchronous, and only touching its state. */
import { ApplicationFailure, setHandler } from "@temporalio/workflow";
import * as messages from "./messages.ts";
import type { Answer, Request } from "./messages.ts";
import { refresh } from "./report.ts";
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

const answers: Record<string, string> = {
  pause: "No machine is admitted until resume; one under way is finished",
  resume: "Machines are admitted again",
  retry: "It is tried again now, with fresh attempts",
};

interface Command {
  update: typeof messages.pause;
  signal: typeof messages.pauseRequested;
  run: (rollout: Rollout, request: Request) => void;
}

// The same command as an update for people, who get an answer, and as a signal for tctl and batches.
function command(rollout: Rollout, { update, signal, run }: Command): void {
  const heard = (request: Request): void => {
    run(rollout, request);
    refresh(rollout);
  };
  const answered = (request: Request): Answer => {
    heard(request);
    return { phase: rollout.standing.phase, message: answers[update.name] ?? rollout.standing.message };
  };
  setHandler(update, answered, { validator: validate, description: `${update.name}: {by, reason}` });
  // A signal cannot be refused: one with wrong fields is taken without them, as its name says enough.
  setHandler(signal, (request) => heard(wrongField(request) === undefined ? request ?? {} : {}), {
    description: `${update.name}, without an answer: {by, reason}`,
  });
}

function pause(rollout: Rollout, request: Request | undefined): void {
  rollout.paused ??= { by: request?.by ?? "unknown", reason: request?.reason ?? "", since: Date.now() };
  rollout.nudged = true;
}

function resume(rollout: Rollout): void {
  rollout.paused = null;
  rollout.nudged = true;
}

function retry(rollout: Rollout): void {
  rollout.attempts = { change: "", used: 0 };
  // A machine that ran out of time gets a fresh start with it.
  rollout.booting = {};
  rollout.nudged = true;
}

function validate(request: Request): void {
  const wrong = wrongField(request);
  if (wrong === undefined) return;
  throw ApplicationFailure.nonRetryable(
    `Cannot take the request: ${wrong}; one object of texts is needed, {"by", "reason"}`,
    "InvalidInput",
  );
}

/** What is wrong with a request, naming the field; undefined for a good one. */
function wrongField(request: unknown): string | undefined {
  if (request === undefined || request === null) return undefined;
  if (typeof request !== "object" || Array.isArray(request)) return "it is no object";
  for (const [field, value] of Object.entries(request)) {
    if (field !== "by" && field !== "reason") return `field "${field}" is not known`;
    if (typeof value !== "string") return `field "${field}" is no text`;
  }
  return undefined;
}
