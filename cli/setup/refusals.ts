/** How Temporal says no to `ostler setup`. */
import { codeOf, temporalFailure, transportReason } from "../connect/temporal_failure.ts";

/** gRPC's numbers of answers to who may not, or to what a server leaves to other ways, as Temporal Cloud does. */
const [permissionDenied, unimplemented, unauthenticated] = [7, 12, 16];

/** gRPC's numbers of what is not there, and of what somebody else has made meanwhile. */
export const [notFound, alreadyExists] = [5, 6] as const;

/** What the server said, where it lets us not do it; everything else is thrown, with an exit code. */
export function refusalIn(address: string, error: unknown): string {
  const code = codeOf(error) ?? -1;
  if ([permissionDenied, unimplemented, unauthenticated].includes(code)) return transportReason(error);
  throw temporalFailure(address, error);
}
