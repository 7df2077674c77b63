/** Refusals of Temporal in `ostler setup`. */
import { codeOf, temporalFailure, transportReason } from "../connect/temporal_failure.ts";

/**
 * gRPC codes of a missing permission, of a call that a server such as Temporal Cloud does not offer, and of missing
 * credentials.
 */
const [permissionDenied, unimplemented, unauthenticated] = [7, 12, 16];

/** gRPC codes of an absent object, and of an object that another client has created in the meantime. */
export const [notFound, alreadyExists] = [5, 6] as const;

/** Returns the reason of a refusal by the server; throws every other error, with an exit code. */
export function refusalIn(address: string, error: unknown): string {
  const code = codeOf(error) ?? -1;
  if ([permissionDenied, unimplemented, unauthenticated].includes(code)) return transportReason(error);
  throw temporalFailure(address, error);
}
