/** Converts failed requests to the API server into the failures that decide what a workflow does next. */
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { denied, refused, unavailable } from "../failures.ts";
import { ApiException } from "./client_node.ts";
import { z } from "zod";

/** The status of a request that a proxy answered in place of the API server. */
const badGateway = 502;
/** The status of a write that was based on an outdated read. */
const conflict = 409;

/**
 * Returns the HTTP status of a request, or undefined without a response. A 404 of a proxy or load balancer counts as
 * 502, because it does not show whether the object exists: a node that counted as deleted would need no drain. A patch
 * that names the UID of an earlier object counts as a conflict.
 */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof ApiException)) return undefined;
  if (isProxied(error)) return badGateway;
  return isOfOther(error) ? conflict : error.code;
}

/**
 * Returns whether a patch names another UID than its object has. The API server answers 422 then, because a UID cannot
 * change (`BeforeUpdate` in `k8s.io/apiserver/pkg/registry/rest`); it answers 409 only to a PUT or DELETE.
 */
function isOfOther(error: ApiException<unknown>): boolean {
  return isInvalid(error, "metadata.uid");
}

function isInvalid({ code, body }: ApiException<unknown>, wanted: string): boolean {
  if (code !== 422) return false;
  const { causes } = (parse(body)?.["details"] ?? {}) as { causes?: unknown };
  return Array.isArray(causes) && causes.some((cause: { field?: unknown } | null) => cause?.field === wanted);
}

/**
 * Returns whether the API server refused a write because of its annotations: an object can have 256 KiB of them, and of
 * more than some 50,000 the policy for Nodes cannot determine which were changed. A compromised node can fill its own
 * Node, and must not stop the rollout of its pool by that.
 */
export function isFull(error: unknown): boolean {
  return error instanceof ApiException && (isInvalid(error, "metadata.annotations") || isTooExpensive(error));
}

/** The denial of a write that the policy in `limit_nodes.yaml` cannot evaluate within the cost limit of CEL. */
const tooExpensive =
  /^.{0,400}ValidatingAdmissionPolicy 'limit-nodes\.ostler\.dev'.*(cost limit exceeded|cost budget)/s;

function isTooExpensive({ code, body }: ApiException<unknown>): boolean {
  const { message } = parse(body) ?? {};
  return code === 422 && typeof message === "string" && tooExpensive.test(message);
}

/** Returns what a write of annotations returns; undefined if its object has no room for them. */
export async function ifRoom<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isFull(error)) return undefined;
    throw error;
  }
}

/**
 * Returns whether a 404 is not from an API server, which answers with a Status object, or for the path of a kind that
 * is not installed with a fixed text.
 */
function isProxied({ code, body }: ApiException<unknown>): boolean {
  if (code !== 404 || parse(body)?.["kind"] === "Status") return false;
  return !(typeof body === "string" && body.startsWith("404 page not found"));
}

/** Returns what a request returns; undefined if the API server itself answers 404. */
export async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/**
 * Runs one step, and converts its error into a failure of `failures.ts`; `attempt` completes "Failed to …". Of a
 * response body, only the reason or message of the API server is quoted, because the rest may repeat the request.
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
  if (status === undefined) return isNetwork(error) ? unavailable(`Failed to ${attempt}: ${reasonOf(error)}`) : error;
  // A denial is retried for a while before the rollout halts, because in its first seconds an API server also denies
  // requests that it will allow later.
  if (status === 401 || status === 403 || isUnconfigured(error, status)) {
    return denied(`Failed to ${attempt}: ${said(error, status)}`);
  }
  if (status === 400 || status === 422) return refused("ObjectInvalid", `Failed to ${attempt}: ${said(error, status)}`);
  return unavailable(`Failed to ${attempt}: ${said(error, status)}`, askedPauseOf(error));
}

/**
 * Bounds (ms) of the pause that the API server may ask for before a retry. A pause longer than `most` is cut to `most`,
 * because many steps have only two or three minutes for all attempts. A pause up to `above` is ignored, and the pauses
 * of the retry policy apply, which grow to 15 s or 30 s: with shorter ones, a step would use up its attempts within
 * seconds.
 */
const askedMs = { above: 15_000, least: 30_000, most: 60_000 };

/** Returns the pause (ms) that a response asks for, within `askedMs`; undefined if it asks for none or a short one. */
function askedPauseOf(error: unknown): number | undefined {
  const { headers = {} } = error as { headers?: Record<string, string> };
  const [, after = ""] = Object.entries(headers).find(([name]) => name.toLowerCase() === "retry-after") ?? [];
  const asked = /^\d{1,9}$/.test(after) ? Number(after) * 1_000 : 0;
  return asked > askedMs.above ? Math.min(Math.max(asked, askedMs.least), askedMs.most) : undefined;
}

const unconfigured =
  / is forbidden: ValidatingAdmissionPolicy '[^']*'.* denied request: failed to configure (policy|binding): /;

/**
 * Returns whether an admission policy failed because the API server has not seen its parameters yet, which may have
 * been created just now. The message, from `k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go`,
 * quotes nothing of the request.
 */
function isUnconfigured(error: unknown, status: number): boolean {
  return status === 422 && unconfigured.test(messageOf(error));
}

function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string") return isOfTheWire(error.code);
  return error.name === "TimeoutError" || error.message === "fetch failed";
}

// Returns whether an error code of Node is about the network. Node also gives codes to programming errors, such as
// ERR_INVALID_ARG_TYPE, which no retry fixes.
function isOfTheWire(code: string): boolean {
  return !code.startsWith("ERR_") || /^ERR_(TLS|SSL|SOCKET|STREAM|HTTP|HTTP2)_/.test(code);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

/** Returns the message in a failed response, at most 300 characters; "" without one. */
export function messageOf(error: unknown): string {
  const message = error instanceof ApiException ? parse(error.body)?.["message"] : undefined;
  return typeof message === "string" ? message.slice(0, 300) : "";
}

/** Returns what to say about a 404 that a proxy or load balancer sent; undefined for every other error. */
export function proxiedText(error: unknown): string | undefined {
  const isOfProxy = error instanceof ApiException && isProxied(error);
  return isOfProxy ? "HTTP 404, but not from the API server; check the proxy or load balancer before it" : undefined;
}

function said(error: unknown, status: number): string {
  const proxied = proxiedText(error);
  if (proxied !== undefined) return proxied;
  if (error instanceof ApiException && isOfOther(error)) return "HTTP 422, another object has this name now";
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
    return undefined; // for example a proxy's HTML page, of which only the status is useful
  }
}

// Runs many requests, a few at a time.

/**
 * Calls `work` for each item, at most `width` at once, and returns the results in the order of the items. Rejects at
 * the first failure, while work on other items continues.
 */
export async function abreast<T, R>(width: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  // All lanes share one iterator, so each takes the next free item.
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}

/**
 * Waits until all promises have settled, even after one fails: no work may continue when its activity has ended and the
 * next attempt has begun. Then returns all results, or throws the failure of the first promise in the list that failed.
 */
export async function sideBySide<Works extends readonly unknown[]>(
  ...works: Works
): Promise<{ -readonly [Each in keyof Works]: Awaited<Works[Each]> }> {
  await Promise.allSettled(works);
  return await Promise.all(works);
}

// Label selectors of Kubernetes: which objects they match, and their text in requests to the API server.

/** A requirement of a selector; selectors of nodes also support Gt and Lt, which compare numbers. */
export const Requirement = z.object({
  key: z.string(),
  operator: z.string(),
  values: z.array(z.string()).nullish(),
});
export type Requirement = z.infer<typeof Requirement>;

/** Selects objects by their labels; an empty selector matches all. */
export const Selector = z.object({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z.array(Requirement).nullish(),
});
export type Selector = z.infer<typeof Selector>;

/** Returns the number of requirements; a selector with 0 matches every object. */
export function requirementsOf({ matchLabels, matchExpressions }: Selector): number {
  return Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length;
}

/** Returns whether all requirements hold for the labels. */
export function selects({ matchLabels, matchExpressions }: Selector, labels: Record<string, string> = {}): boolean {
  return Object.entries(matchLabels ?? {}).every(([key, wanted]) => labels[key] === wanted) &&
    (matchExpressions ?? []).every((requirement) => holds(requirement, labels[requirement.key]));
}

/**
 * Returns whether a requirement holds for the value of a label; without the label, NotIn and DoesNotExist hold. An
 * unknown operator never holds.
 */
export function holds({ operator, values }: Requirement, found: string | undefined): boolean {
  const wanted = values ?? [];
  if (operator === "In") return found !== undefined && wanted.includes(found);
  if (operator === "NotIn") return found === undefined || !wanted.includes(found);
  if (operator === "Exists") return found !== undefined;
  if (operator === "DoesNotExist") return found === undefined;
  if (operator === "Gt") return Number(found) > Number(wanted[0]);
  return operator === "Lt" && Number(found) < Number(wanted[0]);
}

/** Returns the selector as text; the API server refuses operators that it does not support. */
export function selectorText({ matchLabels, matchExpressions }: Selector): string {
  const equal = Object.entries(matchLabels ?? {}).map(([key, wanted]) => `${key}=${wanted}`);
  return [...equal, ...(matchExpressions ?? []).map(requirementText)].join(",");
}

function requirementText({ key, operator, values }: Requirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator.toLowerCase()} (${(values ?? []).join(",")})`;
}
