/** What goes wrong between us and an etcd, sorted by what it means for who asked. */
import type { ApplicationFailure } from "@temporalio/common";
import { refused, unavailable } from "../failures.ts";

/**
 * `Silent`: no answer. `Untrusted`: the server is not of the CA that we know. `Denied`: it does not let us in. `NoQuorum`:
 * members cannot agree at present. `Odd`: an answer that no etcd gives. The others are what etcd says of one order.
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

// By their texts: codes of gRPC are shared by what we have to tell apart.
const known: [RegExp, FaultKind][] = [
  [/in sync with leader/, "NotInSync"],
  [/can only promote a learner/, "NotLearner"],
  [/member not found/, "NotFound"],
  // The gateway does not hand on who a client's certificate names, so users of etcd's own can never be us.
  [/permission denied|user name is empty|invalid auth token|authentication/i, "Denied"],
  [/no leader|leader changed|timed out|deadline exceeded|unhealthy cluster|not enough started members/, "NoQuorum"],
];

const [grpcPermissionDenied, grpcUnauthenticated] = [7, 16];

/** What etcd answered instead of doing it. */
export interface Refusal {
  endpoint: string;
  status: number;
  code: number;
  message: string;
}

/** Sorts an answer that is an error. */
export function faultOf({ endpoint, status, code, message }: Refusal): EtcdFault {
  const isDenied = code === grpcPermissionDenied || code === grpcUnauthenticated;
  const kind = isDenied ? "Denied" : known.find(([pattern]) => pattern.test(message))?.[1] ?? "Odd";
  return new EtcdFault(kind, `"${endpoint}" responded ${message === "" ? `HTTP ${status}` : `"${message}"`}`);
}

// As far as Deno tells them: alerts are what the server says of our certificate.
const denials = /^ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA|BAD_CERTIFICATE|ACCESS_DENIED|UNSUPPORTED_PROTOCOL)/;
const distrusts = /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT|INVALID_CA)/;

/** Sorts what broke a connection; its own words may hold anything and are not quoted. */
export function brokenFault(endpoint: string, error: unknown): EtcdFault {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (denials.test(code)) return new EtcdFault("Denied", `"${endpoint}" refuses the client certificate (${code})`);
  if (distrusts.test(code)) {
    return new EtcdFault("Untrusted", `"${endpoint}" has a certificate that ca.crt did not sign (${code})`);
  }
  return new EtcdFault("Silent", `"${endpoint}" cannot be reached${code === "" ? "" : ` (${code})`}`);
}

/**
 * The failure of a step. A certificate that is not trusted is refused, as trying again does not cure it: somebody has to
 * put the right CA or key into the Secret, and a halt says so at once. All else may pass.
 */
export function failureOf(attempt: string, error: unknown): unknown {
  if (!(error instanceof EtcdFault)) return error;
  return isLasting(error) ? lasting(attempt, error) : unavailable(`Failed to ${attempt}: ${error.message}`);
}

/** Whether trying again with the same credentials can never help. */
export function isLasting({ kind }: EtcdFault): boolean {
  return kind === "Untrusted" || kind === "Denied";
}

/** The failure for what credentials are to blame for. */
export function lasting(attempt: string, { message }: EtcdFault): ApplicationFailure {
  return refused("EtcdAccessMissing", `Failed to ${attempt}: ${message}`);
}
