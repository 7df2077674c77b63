/** HTTP status → failure: what an answer of the API server means for the step that asked. */
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { denied, refused, unavailable } from "../failures.ts";
import { ApiException } from "./client_node.ts";

/** The answer of the API server to a request, or undefined when there was none. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiException ? error.code : undefined;
}

/** Gives undefined for an object that does not exist. */
export async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/**
 * Runs one step and sorts its failure; `attempt` completes "Cannot …".
 * The body of an answer is never quoted beyond the API server's own message: it may echo what was sent.
 */
export async function attempting<T>(attempt: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw sorted(attempt, error);
  }
}

function sorted(attempt: string, error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  const status = statusOf(error);
  if (status === undefined) return isNetwork(error) ? unavailable(`Cannot ${attempt}: ${reasonOf(error)}`) : error;
  // Retried for a while before it halts: a fresh API server denies for some seconds what it will allow.
  if (status === 401 || status === 403 || isUnconfigured(error, status)) {
    return denied(`Cannot ${attempt}: ${said(error, status)}`);
  }
  if (status === 400 || status === 422) return refused("ObjectInvalid", `Cannot ${attempt}: ${said(error, status)}`);
  return unavailable(`Cannot ${attempt}: ${said(error, status)}`);
}

const unconfigured =
  / is forbidden: ValidatingAdmissionPolicy '[^']*'.* denied request: failed to configure (policy|binding): /;

/**
 * An admission policy cannot judge, as the API server has not seen its parameters, which may be on their way. The words, of
 * `k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go`, tell nothing of what was sent.
 */
function isUnconfigured(error: unknown, status: number): boolean {
  return status === 422 && unconfigured.test(messageOf(error));
}

function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string") return isOfTheWire(error.code);
  return error.name === "TimeoutError" || error.message === "fetch failed";
}

// Node marks faults of the caller with codes too, such as ERR_INVALID_ARG_TYPE: nothing that waiting cures.
function isOfTheWire(code: string): boolean {
  return !code.startsWith("ERR_") || /^ERR_(TLS|SSL|SOCKET|STREAM|HTTP|HTTP2)_/.test(code);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

/** The API server's own words for what it did not do; "" when it gave none. */
export function messageOf(error: unknown): string {
  const message = error instanceof ApiException ? parse(error.body)?.["message"] : undefined;
  return typeof message === "string" ? message.slice(0, 300) : "";
}

function said(error: unknown, status: number): string {
  const body = error instanceof ApiException ? parse(error.body) : undefined;
  const reason = typeof body?.["reason"] === "string" ? body["reason"] : "no reason given";
  const message = body?.["message"];
  const isQuotable = status === 403 || status === 404 || isUnconfigured(error, status);
  return isQuotable && typeof message === "string" ? `HTTP ${status}, ${message}` : `HTTP ${status}, ${reason}`;
}

function parse(body: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = typeof body === "string" ? JSON.parse(body) : body;
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : undefined;
  } catch {
    return undefined; // a proxy's HTML page, say: the status is all there is to tell
  }
}
