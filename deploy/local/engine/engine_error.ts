/** The facts that an error message states, so that the reader needs no other output to understand the failure. */
interface EngineFailure {
  /** The attempted action, in words that complete "Failed to …". */
  readonly attempt: string;
  readonly state: string;
  /** Lines of detail: the checked engines, or the last lines of a log. */
  readonly details?: readonly string[];
  readonly cure?: string;
  readonly cause?: unknown;
}

/** A failure of the Docker engine or of its cleanup; the message includes the cure. */
export class EngineError extends Error {
  override readonly name = "EngineError";
}

/** Returns an error with attempted action, state, detail lines and cure. */
export function engineError({ attempt, state, details = [], cure, cause }: EngineFailure): EngineError {
  const lines = details.flatMap((detail) => detail.split("\n")).map((line) => `\n  | ${line}`).join("");
  return new EngineError(`Failed to ${attempt}: ${state}${lines}${cure === undefined ? "" : `\n  cure: ${cure}`}`, {
    cause,
  });
}

/** Returns the message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
