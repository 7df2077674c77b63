/** What a failed request to Temporal means for the person who asked. */
import { isGrpcServiceError } from "@temporalio/client";
import { CommandFailure, Unreachable } from "../failure.ts";

/** A failure with an exit code for what Temporal answered, or did not; other errors as they are. */
export function temporalFailure(address: string, error: unknown): unknown {
  if (error instanceof CommandFailure || !isGrpcServiceError(error)) return error;
  return new Unreachable(`Cannot reach Temporal at ${address}: ${error.details || transportReason(error)}`);
}

/** A command that came with the last moment of a run, whose last step was then taken again without it. */
export function isLost(error: unknown): boolean {
  return isGrpcServiceError(error) && error.details.includes("workflow task failure");
}

/** Why a request failed, in one line: the native connection writes its whole error down. */
export function transportReason(error: unknown): string {
  const [text = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return /message: "([^"]+)"/.exec(text)?.[1] ?? text;
}
