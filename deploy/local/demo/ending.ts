import { Interruption } from "./interruption.ts";

/** The course of a demo: its report, or the error that ended it early. */
export interface Course {
  readonly seed: number;
  readonly replicas: number;
  /** Report of the story; undefined if the story did not finish. */
  readonly report: { readonly ok: boolean } | undefined;
  /** The error that ended the demo early, if any. */
  readonly failure: unknown;
  readonly directory: string;
}

/** Exit code and last output of a demo. */
export interface Ending {
  readonly exitCode: number;
  /** Whether the directory of the demo is kept, so that people can read the logs. */
  readonly keepsDirectory: boolean;
  readonly text: string;
  /** The object that `--json` prints if the demo ended without a report; undefined otherwise. */
  readonly json: object | undefined;
}

/** Returns exit code and last output of a demo, from its report and from the error that ended it. */
export function endingOf(course: Course): Ending {
  const { report, failure, directory } = course;
  const wasKept = report !== undefined && failure instanceof Interruption;
  if (failure !== undefined && !wasKept) return brokenOff(course);
  const isFine = report?.ok === true;
  const where = isFine ? "its directory is removed" : `its logs are in "${directory}/logs"`;
  return {
    exitCode: isFine ? 0 : 1,
    keepsDirectory: !isFine,
    text: `All processes of the demo are stopped; ${where}`,
    json: undefined,
  };
}

function brokenOff({ seed, replicas, report, failure, directory }: Course): Ending {
  const error = explain(failure);
  const isAsked = failure instanceof Interruption;
  const where = isAsked ? "its directory is removed" : `its logs are in "${directory}/logs"`;
  return {
    exitCode: isAsked ? failure.exitCode : 1,
    keepsDirectory: !isAsked,
    text: `${error}\nAll processes of the demo are stopped; ${where}`,
    json: report === undefined ? { ok: false, seed, replicas, error, ...(isAsked ? {} : { directory }) } : undefined,
  };
}

/** Returns the message of an error, followed by the messages of its causes that it does not already contain. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause === undefined) return error.message;
  const cause = explain(error.cause);
  return error.message.includes(cause) ? error.message : `${error.message}: ${cause}`;
}
