/** Describes failures of Temporal to administrators: one line with the cause and the remedy. */
import { isGrpcServiceError, ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import type { TemporalServer } from "../activities/temporal/temporal_server.ts";

/** gRPC codes of refusals that last until an administrator intervenes. */
const [notFound, permissionDenied, unimplemented, unauthenticated] = [5, 7, 12, 16];

/**
 * Texts that reveal the gRPC code of an error: the native connection reports no code when its very first request is
 * refused.
 */
const words: [RegExp, number][] = [
  [/does not have permission|PermissionDenied/, permissionDenied],
  [/is not implemented or not supported|Unimplemented/, unimplemented],
  [/valid authentication credentials|Unauthenticated/, unauthenticated],
];

/** Thrown if Temporal cannot be used; the message has Temporal's response and the remedy. */
export class TemporalTrouble extends Error {
  override readonly name = "TemporalTrouble";
}

/** Returns a failure of Temporal with its remedy; returns other errors unchanged. */
export function temporalTrouble({ address, namespace }: Place, error: unknown): unknown {
  const place = `namespace "${namespace}" of Temporal at ${address}`;
  if (error instanceof NamespaceNotFoundError) return trouble(error, `Failed to use ${place}: ${absent(namespace)}`);
  const answer = answerIn(error);
  if (answer === undefined) return error;
  const { code, text } = answer;
  if (code === notFound && /^namespace\b/i.test(text)) {
    return trouble(error, `Failed to use ${place}: ${absent(namespace)}`);
  }
  if (code === permissionDenied || code === unauthenticated) {
    return trouble(error, `Failed to use ${place}: Temporal refuses this process: "${text}"; ${remedy}`);
  }
  if (code === unimplemented) {
    return trouble(error, `Failed to use ${place}: the server does not support the request: "${text}"; ${older}`);
  }
  return trouble(error, `Failed to reach Temporal at ${address}: ${text}; retrying`);
}

/** Runs requests to Temporal; throws their failures with a remedy. */
export async function askTemporal<T>(place: Place, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw temporalTrouble(place, error);
  }
}

type Place = Pick<TemporalServer, "address" | "namespace">;

const remedy = "grant this identity (TEMPORAL_API_KEY, TEMPORAL_TLS_*) permission to read and write in that namespace";
const older = "the server is older than Ostler needs (tested with 1.29), or is not Temporal";

function absent(namespace: string): string {
  return `the namespace does not exist; set --temporal-namespace (TEMPORAL_NAMESPACE), or create it with ` +
    `\`ostler setup --temporal-namespace ${namespace}\``;
}

function trouble(cause: unknown, message: string): TemporalTrouble {
  return new TemporalTrouble(message, { cause });
}

// The client wraps most answers; failures of the connection itself have no code.
function answerIn(error: unknown): { code: number | undefined; text: string } | undefined {
  if (isGrpcServiceError(error)) return { code: error.code, text: lineOf(error) };
  // The error is compared by name, because an import of its class would load the worker's package, which the controller
  // does not need.
  if (error instanceof Error && error.name === "TransportError") {
    return { code: codeIn(error.message), text: lineOf(error) };
  }
  return error instanceof ServiceError ? answerIn(error.cause) : undefined;
}

function codeIn(message: string): number | undefined {
  return words.find(([word]) => word.test(message))?.[1];
}

// Returns the server's message, because the native connection puts a whole error into its own message.
function lineOf({ message }: Error): string {
  const [text = ""] = message.split("\n");
  return /message: "([^"]+)"/.exec(text)?.[1] ?? (text || "no reason given");
}
