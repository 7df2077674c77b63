/** What a failure has to tell a reader who saw nothing else. */
export interface EngineFailure {
  /** Completes "Cannot …". */
  readonly attempt: string;
  readonly state: string;
  /** One line each: the engines that were looked at, or the last lines of a log. */
  readonly details?: readonly string[];
  readonly cure?: string;
  readonly cause?: unknown;
}

/** The Docker engine, or what it left on this machine, is not as it must be; the message says how to cure it. */
export class EngineError extends Error {
  override readonly name = "EngineError";
}

/** Builds the error from what was attempted, what is the case, the lines that show it and the cure. */
export function engineError({ attempt, state, details = [], cure, cause }: EngineFailure): EngineError {
  const lines = details.flatMap((detail) => detail.split("\n")).map((line) => `\n  | ${line}`).join("");
  return new EngineError(`Cannot ${attempt}: ${state}${lines}${cure === undefined ? "" : `\n  cure: ${cure}`}`, {
    cause,
  });
}

/** The message of whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
