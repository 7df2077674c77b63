/** Reads the state of a hand, the pod that executes an order on a node. */
import type { V1Pod } from "@kubernetes/client-node";
import type { OsOutcome } from "../../workflows/contracts/mod.ts";
import { plain, verdictIn } from "./verdict.ts";

/**
 * State of the pod of an order. `Told`: the pod reported a result. `Lost`: the pod will never report a result.
 * `Waiting`: the pod may still report a result.
 */
export type HandState<Outcome = OsOutcome> =
  | { kind: "Told"; outcome: Outcome; hasBegun: true; message: string }
  | { kind: "Lost" | "Waiting"; hasBegun: boolean; message: string };

/** Reasons of containers that were stopped from outside. */
const stopped = /^(ContainerStatusUnknown|DeadlineExceeded|Evicted|NodeShutdown|Terminated|OOMKilled)$/;
/** This exit code and higher ones mean that a signal ended the container, for example when the node was shut down. */
const signalled = 128;

/** How the termination messages of hands of one kind are read. */
export interface HandReading<Outcome> {
  /** Returns the outcome in a termination message; undefined if it is not a valid result. */
  verdictIn: (said: string) => Outcome | undefined;
  /** Returns the outcome of a script that ended by itself without a result; undefined if it is unknown. */
  failed: (message: string) => Outcome | undefined;
}

/** Returns the functions that read the result of an OS operation with this verb. */
export function osReading(verb: string | undefined): HandReading<OsOutcome> {
  const failed = (message: string): OsOutcome | undefined =>
    booting(verb) ? undefined : { outcome: "Refused", reason: "DriverFailed", message };
  return { verdictIn, failed };
}

/** Returns the state of an order's pod; pure. */
export function stateIn<Outcome>({ metadata, status }: V1Pod, reading: HandReading<Outcome>): HandState<Outcome> {
  const pod = `pod "${metadata?.name}"`;
  const { state } = status?.containerStatuses?.[0] ?? {};
  const { terminated, running, waiting } = state ?? {};
  const hasBegun = running !== undefined || terminated !== undefined;
  if (terminated) {
    const { exitCode, message = "" } = terminated;
    const outcome = reading.verdictIn(message);
    if (outcome) return { kind: "Told", hasBegun: true, outcome, message: `${pod} reported its result` };
    const why = plain(status?.reason ?? terminated.reason ?? "");
    const ended = `${pod} ended with exit code ${exitCode}${why && ` (${why})`} and an unreadable result`;
    const isStopped = exitCode >= signalled || stopped.test(why);
    const failed = isStopped ? undefined : reading.failed(`${ended}: ${plain(message)}`);
    if (!failed) return { kind: "Lost", hasBegun: true, message: ended };
    return { kind: "Told", hasBegun: true, outcome: failed, message: ended };
  }
  const words = [status?.reason, status?.message, waiting?.reason, waiting?.message].filter(Boolean).join(": ");
  const why = words && ` (${plain(words).slice(0, 300)})`;
  if (status?.phase === "Failed" || status?.phase === "Succeeded") {
    return { kind: "Lost", hasBegun, message: `${pod} ended without a result${why}` };
  }
  if (metadata?.deletionTimestamp) return { kind: "Waiting", hasBegun, message: `${pod} is being deleted` };
  return { kind: "Waiting", hasBegun, message: `${pod} ${hasBegun ? "is running" : `has not started${why}`}` };
}

/**
 * Returns whether the verb boots the node. If such an order reports no result, it is unknown whether the node will
 * boot.
 */
export function booting(verb = ""): boolean {
  return verb === "Apply" || verb === "GoBack";
}
