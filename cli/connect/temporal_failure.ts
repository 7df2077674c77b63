/** What a failed request to Temporal means for the person who asked. */
import { isGrpcServiceError, ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import { Refusal, Unreachable } from "../failure.ts";

/** gRPC codes by which a server that was reached says no; asking again would not help. */
const refusing = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  unauthenticated: 16,
};

/** A failure with an exit code for what Temporal answered, or did not; other errors as they are. */
export function temporalFailure(address: string, error: unknown): unknown {
  if (error instanceof NamespaceNotFoundError) {
    return new Refusal(
      `Cannot ask Temporal at ${address}: there is no namespace "${error.namespace}"; give --temporal-namespace`,
    );
  }
  const status = statusIn(error);
  if (status === undefined) return error;
  const reason = transportReason(status);
  return Object.values(refusing).includes(status.code)
    ? new Refusal(`Cannot ask Temporal at ${address}: ${reason}`)
    : new Unreachable(`Cannot reach Temporal at ${address}: ${reason}`);
}

/** A command that came with the last moment of a run, whose last step was then taken again without it. */
export function isLost(error: unknown): boolean {
  return statusIn(error)?.message.includes("workflow task failure") === true;
}

/** gRPC's number of an answer that was no success; undefined for other errors. */
export function codeOf(error: unknown): number | undefined {
  return statusIn(error)?.code;
}

// The client wraps most answers; what it has read out of an answer (a timeout, a workflow not found) stays as it is.
function statusIn(error: unknown): Error & { code: number } | undefined {
  if (isGrpcServiceError(error)) return error;
  return error instanceof ServiceError ? statusIn(error.cause) : undefined;
}

/** Why a request failed, in one line: the native connection writes its whole error down, and its `details` are empty. */
export function transportReason(error: unknown): string {
  const [text = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return /message: "([^"]+)"/.exec(text)?.[1] ?? (text || "no reason given");
}
