/** The failures of requests to Temporal, with an exit code. */
import { isGrpcServiceError, ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import { Refusal, Unreachable } from "../failure.ts";

/** gRPC codes of a server that refuses; a retry would not help. */
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

/** Returns the failure of a command for a failed request to Temporal; returns other errors unchanged. */
export function temporalFailure(address: string, error: unknown): unknown {
  if (error instanceof NamespaceNotFoundError) {
    return new Refusal(
      `Failed to query Temporal at ${address}: namespace "${error.namespace}" does not exist; give --temporal-namespace`,
    );
  }
  const status = statusIn(error);
  if (status === undefined) return error;
  const reason = transportReason(status);
  return Object.values(refusing).includes(status.code)
    ? new Refusal(`Failed to query Temporal at ${address}: ${reason}`)
    : new Unreachable(`Failed to reach Temporal at ${address}: ${reason}`);
}

/** Returns whether a command was lost because the run completed while it arrived. */
export function isLost(error: unknown): boolean {
  return statusIn(error)?.message.includes("workflow task failure") === true;
}

/** Returns the gRPC code of a failed request; undefined for other errors. */
export function codeOf(error: unknown): number | undefined {
  return statusIn(error)?.code;
}

// The client wraps most gRPC errors in a ServiceError; for some, such as a missing workflow, it throws an error of its
// own without a code.
function statusIn(error: unknown): Error & { code: number } | undefined {
  if (isGrpcServiceError(error)) return error;
  return error instanceof ServiceError ? statusIn(error.cause) : undefined;
}

/**
 * Returns the cause of a failed request in one line. Extracts it from the message, because errors of the native
 * connection have a whole gRPC error there, and empty `details`.
 */
export function transportReason(error: unknown): string {
  const [text = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return /message: "([^"]+)"/.exec(text)?.[1] ?? (text || "no reason given");
}
