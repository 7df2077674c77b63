/** The state of a hand, from its pod. */
import type { V1Pod } from "@kubernetes/client-node";
import type { OsOutcome } from "../../workflows/contracts/mod.ts";
import { plain, verdictIn } from "./verdict.ts";

/** `Told`: it reported a result. `Lost`: it will never report one. `Waiting`: it may still report one. */
export type HandState =
  | { kind: "Told"; outcome: OsOutcome; hasBegun: true; message: string }
  | { kind: "Lost" | "Waiting"; hasBegun: boolean; message: string };

/** Reasons of containers that were stopped from outside. */
const stopped = /^(ContainerStatusUnknown|DeadlineExceeded|Evicted|NodeShutdown|Terminated|OOMKilled)$/;
/** Exit codes from here on mean a signal, as when the node was shut down. */
const signalled = 128;

/** Returns the state of the hand in a pod; pure. */
export function stateOf({ metadata, spec, status }: V1Pod): HandState {
  const pod = `pod "${metadata?.name}"`;
  const { state } = status?.containerStatuses?.[0] ?? {};
  const { terminated, running, waiting } = state ?? {};
  const hasBegun = running !== undefined || terminated !== undefined;
  if (terminated) {
    const { exitCode, message = "" } = terminated;
    const outcome = verdictIn(message);
    if (outcome) return { kind: "Told", hasBegun: true, outcome, message: `${pod} reported its result` };
    const why = plain(status?.reason ?? terminated.reason ?? "");
    const ended = `${pod} ended with exit code ${exitCode}${why && ` (${why})`} and an unreadable result`;
    const isStopped = exitCode >= signalled || stopped.test(why) || booting(spec?.containers[0]?.args?.[1]);
    if (isStopped) return { kind: "Lost", hasBegun: true, message: ended };
    const failed: OsOutcome = { outcome: "Refused", reason: "DriverFailed", message: `${ended}: ${plain(message)}` };
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

/** Returns whether the verb boots the node; without a result, it is unknown whether the boot was ordered. */
function booting(verb = ""): boolean {
  return verb === "Apply" || verb === "GoBack";
}
