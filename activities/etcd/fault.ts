/** Failures of requests to etcd, sorted by what they mean for the caller. */
import type { ApplicationFailure } from "@temporalio/common";
import { refused, unavailable } from "../failures.ts";

/**
 * `Silent`: no answer. `Untrusted`: the configured CA does not verify the server's certificate. `Denied`: the server
 * rejects the credentials. `NoQuorum`: members cannot agree at present. `Odd`: any other answer. `NotInSync`,
 * `NotLearner`, `NotFound`: etcd refuses to promote or remove the requested member.
 */
export type FaultKind =
  | "Silent"
  | "Untrusted"
  | "Denied"
  | "NoQuorum"
  | "NotInSync"
  | "NotLearner"
  | "NotFound"
  | "Odd";

/** The message names the endpoint and its state, and completes "Failed to …: ". */
export class EtcdFault extends Error {
  override readonly name = "EtcdFault";

  constructor(readonly kind: FaultKind, message: string) {
    super(message);
  }
}

// Recognises errors of etcd by their messages, because several causes share a gRPC code.
const known: [RegExp, FaultKind][] = [
  [/in sync with leader/, "NotInSync"],
  [/can only promote a learner/, "NotLearner"],
  [/member not found/, "NotFound"],
  // The gateway does not pass on the name in a client certificate, so Ostler cannot log in as a user of etcd. Without
  // the prefix, "authentication handshake failed" is about the gateway's own connection to its busy or stopping server.
  [/etcdserver: (permission denied|user name is empty|invalid auth token|authentication )/i, "Denied"],
  [/no leader|leader changed|timed out|deadline exceeded|unhealthy cluster|not enough started members/, "NoQuorum"],
];

const [grpcPermissionDenied, grpcUnauthenticated] = [7, 16];

/** An error response of etcd. */
export interface Refusal {
  endpoint: string;
  status: number;
  code: number;
  message: string;
}

/** Returns the fault for an error response; its kind follows from the gRPC code and the message. */
export function faultOf({ endpoint, status, code, message }: Refusal): EtcdFault {
  const isDenied = code === grpcPermissionDenied || code === grpcUnauthenticated;
  const kind = isDenied ? "Denied" : known.find(([pattern]) => pattern.test(message))?.[1] ?? "Odd";
  return new EtcdFault(kind, `"${endpoint}" responded ${message === "" ? `HTTP ${status}` : `"${message}"`}`);
}

// The codes of TLS errors that Deno reports: `denials` are alerts with which the server rejects the client certificate,
// `distrusts` are faults of the server's own certificate.
const denials = /^ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA|BAD_CERTIFICATE|ACCESS_DENIED|UNSUPPORTED_PROTOCOL)/;
const distrusts = /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT|INVALID_CA)/;

/**
 * Returns the fault for the error of a failed connection. Quotes only the error's code, because the error's message may
 * contain anything.
 */
export function brokenFault(endpoint: string, error: unknown): EtcdFault {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (denials.test(code)) return new EtcdFault("Denied", `"${endpoint}" refuses the client certificate (${code})`);
  if (distrusts.test(code)) {
    return new EtcdFault("Untrusted", `"${endpoint}" has a certificate that "ca.crt" does not verify (${code})`);
  }
  return new EtcdFault("Silent", `"${endpoint}" cannot be reached${code === "" ? "" : ` (${code})`}`);
}

/**
 * Returns the failure of a step. Faults of credentials are Refused, so that the workflow reports them at once and does
 * not retry: only an administrator can fix the CA or key in the Secret. All other faults are Transient.
 */
export function failureOf(attempt: string, error: unknown): unknown {
  if (!(error instanceof EtcdFault)) return error;
  return isLasting(error) ? lasting(attempt, error) : unavailable(`Failed to ${attempt}: ${error.message}`);
}

/** Returns whether retries with the same credentials can never succeed. */
export function isLasting({ kind }: EtcdFault): boolean {
  return kind === "Untrusted" || kind === "Denied";
}

/** Returns the failure for a fault of credentials. */
export function lasting(attempt: string, { message }: EtcdFault): ApplicationFailure {
  return refused("EtcdAccessMissing", `Failed to ${attempt}: ${message}`);
}
