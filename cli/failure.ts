/** How a command ends badly, by what its caller can do about it; the numbers are promised in `--help`. */
import { ProfileRefused } from "../profiles/refusal.ts";
import { UsageError } from "./usage_error.ts";

/** What the exit codes mean, for `--help`. */
export const exitCodes = `Exit codes:
  0  done; what was waited for has come
  1  failed: halted, rolled back, aborted, refused or not found; profiles have errors, or there are differences
  2  it was not asked as it must be, or a file cannot be used; what is to be checked or compared cannot be looked at
  3  timed out
  4  Kubernetes or Temporal cannot be reached`;

/** A failure with an exit code of its own; the message is all that people see. */
export class CommandFailure extends Error {
  constructor(readonly exitCode: 1 | 2 | 3 | 4, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** It was looked at and cannot be, or is not wanted: exit code 1. */
export class Refusal extends CommandFailure {
  override readonly name = "Refusal";
  constructor(message: string, options?: ErrorOptions) {
    super(1, message, options);
  }
}

/** Where 1 says what was found, trouble that nobody foresaw must not: exit code 2. */
export class Untold extends CommandFailure {
  override readonly name = "Untold";
  constructor(cause: unknown) {
    super(2, `Cannot tell: ${cause instanceof Error ? cause.stack ?? cause.message : String(cause)}`, { cause });
  }
}

/** What was waited for has not come in time: exit code 3. */
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

/** Its message tells people all that they need. */
export function isForeseen(error: unknown): error is Error {
  return error instanceof CommandFailure || error instanceof UsageError || error instanceof ProfileRefused;
}

/** The exit code that belongs to an error; 1 for what nobody foresaw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  return isForeseen(error) ? 2 : 1;
}
