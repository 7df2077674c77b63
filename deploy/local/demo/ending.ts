import { Interruption } from "./interruption.ts";

/** How a demo went. */
export interface Course {
  readonly seed: number;
  readonly replicas: number;
  /** Undefined when the story was not told to its end. */
  readonly report: { readonly ok: boolean } | undefined;
  /** What ended it, if anything did before its time. */
  readonly failure: unknown;
  readonly directory: string;
}

/** What is left to do and to say. */
export interface Ending {
  readonly exitCode: number;
  /** So that people can read the logs. */
  readonly keepsDirectory: boolean;
  readonly text: string;
  /** What `--json` prints in place of a report. */
  readonly json: object | undefined;
}

/** Judges a demo by its report, and by what ended it. */
export function endingOf(course: Course): Ending {
  const { report, failure, directory } = course;
  const wasKept = report !== undefined && failure instanceof Interruption;
  if (failure !== undefined && !wasKept) return brokenOff(course);
  const isFine = report?.ok === true;
  const where = isFine ? "its directory is removed" : `its logs stay in "${directory}/logs"`;
  return {
    exitCode: isFine ? 0 : 1,
    keepsDirectory: !isFine,
    text: `Every process of the demo is stopped; ${where}`,
    json: undefined,
  };
}

function brokenOff({ seed, replicas, report, failure, directory }: Course): Ending {
  const error = explain(failure);
  const isAsked = failure instanceof Interruption;
  const where = isAsked ? "its directory is removed" : `its logs stay in "${directory}/logs"`;
  return {
    exitCode: isAsked ? failure.exitCode : 1,
    keepsDirectory: !isAsked,
    text: `${error}\nEvery process of the demo is stopped; ${where}`,
    json: report === undefined ? { ok: false, seed, replicas, error, ...(isAsked ? {} : { directory }) } : undefined,
  };
}

/** An error's message, followed by those of its causes that say something new. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause === undefined) return error.message;
  const cause = explain(error.cause);
  return error.message.includes(cause) ? error.message : `${error.message}: ${cause}`;
}
