/** How a command ends badly, by what its caller can do about it; the numbers are promised in `--help`. */
import { UsageError } from "./usage_error.ts";

/** What the exit codes mean, for `--help`. */
export const exitCodes = `Exit codes:
  0  done; what was waited for has come
  1  failed: halted, rolled back, aborted, refused or not found; profiles have errors, or there are differences
  2  it was not asked as it must be, or a file cannot be used
  3  timed out
  4  Kubernetes or Temporal cannot be reached`;

/** A failure with an exit code of its own; the message is all that people see. */
export class CommandFailure extends Error {
  constructor(readonly exitCode: 1 | 3 | 4, message: string, options?: ErrorOptions) {
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

/** The exit code that belongs to an error; 1 for what nobody foresaw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  return error instanceof CommandFailure ? error.exitCode : 1;
}
