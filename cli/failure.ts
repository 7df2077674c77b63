/** The failures of commands: each class has one of the exit codes that `--help` lists. */
import { ProfileRefused } from "../profiles/refusal.ts";
import { UsageError } from "./usage_error.ts";

/** The meaning of the exit codes, for `--help`. */
export const exitCodes = `Exit codes:
  0  success; with a wait, the expected state was reached
  1  failed: halted, rolled back, aborted, refused or not found; profiles have errors, or a diff has differences
  2  usage error, or a file is unusable; the input of diff or validate cannot be read
  3  timed out
  4  Kubernetes or Temporal cannot be reached`;

/** A failure with an exit code of its own; users see only its message. */
export class CommandFailure extends Error {
  constructor(readonly exitCode: 1 | 2 | 3 | 4, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** A valid request that failed or was declined: exit code 1. */
export class Refusal extends CommandFailure {
  override readonly name = "Refusal";
  constructor(message: string, options?: ErrorOptions) {
    super(1, message, options);
  }
}

/**
 * An internal error in a command that uses exit code 1 for a result, such as a difference found by `diff`: exit code 2.
 */
export class Untold extends CommandFailure {
  override readonly name = "Untold";
  constructor(cause: unknown) {
    super(2, `Internal error: ${cause instanceof Error ? cause.stack ?? cause.message : String(cause)}`, { cause });
  }
}

/** The expected state was not reached in time: exit code 3. */
export class TimedOut extends CommandFailure {
  override readonly name = "TimedOut";
  constructor(message: string, options?: ErrorOptions) {
    super(3, message, options);
  }
}

/** Kubernetes or Temporal does not answer: exit code 4. */
export class Unreachable extends CommandFailure {
  override readonly name = "Unreachable";
  constructor(message: string, options?: ErrorOptions) {
    super(4, message, options);
  }
}

/** Returns whether an error was foreseen, so that users see its message without a stack trace. */
export function isForeseen(error: unknown): error is Error {
  return error instanceof CommandFailure || error instanceof UsageError || error instanceof ProfileRefused;
}

/** Returns the exit code of an error; 1 for an unforeseen one. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  return isForeseen(error) ? 2 : 1;
}
