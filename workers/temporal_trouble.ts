/** What Temporal's answer, or none, means for whoever looks after a process: one line, and what to do about it. */
import { isGrpcServiceError, ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import type { TemporalServer } from "../activities/temporal/temporal_server.ts";

/** gRPC's numbers of answers that will be the same until somebody changes something. */
const [notFound, permissionDenied, unimplemented, unauthenticated] = [5, 7, 12, 16];

/** How the native connection, which gives no number then, writes them where the very first request is refused. */
const words: [RegExp, number][] = [
  [/does not have permission|PermissionDenied/, permissionDenied],
  [/is not implemented or not supported|Unimplemented/, unimplemented],
  [/valid authentication credentials|Unauthenticated/, unauthenticated],
];

/** Temporal cannot be used as it is; the message tells what it said, and what helps. */
export class TemporalTrouble extends Error {
  override readonly name = "TemporalTrouble";
}

/** Temporal's failures as people can act on them; other errors as they are. */
export function temporalTrouble({ address, namespace }: Place, error: unknown): unknown {
  const place = `namespace "${namespace}" of Temporal at ${address}`;
  if (error instanceof NamespaceNotFoundError) return trouble(error, `Cannot use ${place}: ${absent(namespace)}`);
  const answer = answerIn(error);
  if (answer === undefined) return error;
  const { code, text } = answer;
  if (code === notFound && /^namespace\b/i.test(text)) {
    return trouble(error, `Cannot use ${place}: ${absent(namespace)}`);
  }
  if (code === permissionDenied || code === unauthenticated) {
    return trouble(error, `Cannot use ${place}: it refuses this process: "${text}"; ${remedy}`);
  }
  if (code === unimplemented) {
    return trouble(error, `Cannot use ${place}: it does not support the request: "${text}"; ${older}`);
  }
  return trouble(error, `Cannot reach Temporal at ${address}: ${text}; retrying`);
}

/** Runs what asks Temporal; throws its failures as people can act on them. */
export async function askTemporal<T>(place: Place, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw temporalTrouble(place, error);
  }
}

type Place = Pick<TemporalServer, "address" | "namespace">;

const remedy = "grant this identity (TEMPORAL_API_KEY, TEMPORAL_TLS_*) permission to read and write there";
const older = "the server is older than Ostler needs (tested with 1.29), or is not Temporal";

function absent(namespace: string): string {
  return `it does not exist; set --temporal-namespace (TEMPORAL_NAMESPACE), or create it with ` +
    `\`ostler setup --temporal-namespace ${namespace}\``;
}

function trouble(cause: unknown, message: string): TemporalTrouble {
  return new TemporalTrouble(message, { cause });
}

// The client wraps most answers; the connection itself has none that bears a number.
function answerIn(error: unknown): { code: number | undefined; text: string } | undefined {
  if (isGrpcServiceError(error)) return { code: error.code, text: lineOf(error) };
  // By name, as its class would bring the worker's package along, which the controller does not load.
  if (error instanceof Error && error.name === "TransportError") {
    return { code: codeIn(error.message), text: lineOf(error) };
  }
  return error instanceof ServiceError ? answerIn(error.cause) : undefined;
}

function codeIn(message: string): number | undefined {
  return words.find(([word]) => word.test(message))?.[1];
}

// The native connection writes its whole error down.
function lineOf({ message }: Error): string {
  const [text = ""] = message.split("\n");
  return /message: "([^"]+)"/.exec(text)?.[1] ?? (text || "no reason given");
}
