/** Refusals of Google, sorted by what can be done about them. */
import type { compute_v1 } from "@googleapis/compute";
import { denied, refused, unavailable } from "../../failures.ts";

/** A refusal with the codes by which Google distinguishes its causes. */
export interface Refusal {
  codes: string[];
  says: string;
  /** HTTP status of the answer; undefined without an answer. */
  status: number | undefined;
}

const passing = [
  ...["rateLimitExceeded", "userRateLimitExceeded", "concurrentLimitExceeded", "resourceNotReady", "backendError"],
  ...["resourceInUseByAnotherResource", "operationInProgress", "conditionNotMet", "internalError"],
  ...["RATE_LIMIT_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED", "RESOURCE_NOT_READY", "CONDITION_NOT_MET"],
  ...["RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", "TIMEOUT"],
  ...["resourceOperationRateExceeded", "OPERATION_CANCELED", "ABORTED"],
];
/** Matches codes that report missing capacity of a zone, region or reservation, a spent quota, or lack of addresses. */
const noRoom = /RESOURCE_POOL_EXHAUSTED|QUOTA_EXCEEDED|^quotaExceeded$|IP_SPACE_EXHAUSTED|STOCKOUT|CAPACITY_EXCEEDED/;
/** Codes of an operation that failed for lack of permissions, of Ostler or of Google's service account. */
const forbidden = ["PERMISSIONS_ERROR", "FORBIDDEN", "PERMISSION_DENIED"];
const full = ["limitExceeded", "LIMIT_EXCEEDED"];
const known = ["alreadyExists", "RESOURCE_ALREADY_EXISTS"];

/** Returns the refusal in the error of a call. */
export function refusalOf(error: unknown): Refusal {
  const { message = "no response", status, response } = error as {
    message?: string;
    status?: number;
    response?: { data?: { error?: { errors?: { reason?: string }[] } } };
  };
  const codes = (response?.data?.error?.errors ?? []).flatMap(({ reason }) => reason ?? []);
  return { codes, says: withoutValues(message), status };
}

/**
 * Returns the refusal in the errors of an operation or of the last attempt to create a machine; undefined without
 * errors.
 */
export function refusalIn(error: compute_v1.Schema$Operation["error"]): Refusal | undefined {
  const all = error?.errors ?? [];
  if (all.length === 0) return undefined;
  const says = all.map(({ code = "Unknown", message = "" }) => `${code}: ${message}`).join("; ");
  const codes = all.flatMap(({ code }) => code ?? []);
  return { codes, says: withoutValues(says), status: codes.some((code) => forbidden.includes(code)) ? 403 : 400 };
}

/** Returns whether the refusal means that capacity is missing, which only time or an administrator fixes. */
export function isWithoutRoom({ codes, status }: Refusal): boolean {
  return status !== 429 && codes.some((code) => noRoom.test(code));
}

/** Returns whether the refusal means that the resource exists already. */
export function isKnown({ codes, status }: Refusal): boolean {
  return codes.length === 0 ? status === 409 : codes.some((code) => known.includes(code));
}

/** Returns whether the refusal means that the resource is absent although its project exists. */
export function isAbsent(refusal: Refusal): boolean {
  return refusal.status === 404 && !isProxied(refusal) && !/'projects\/[^/']+' was not found/.test(refusal.says);
}

/**
 * Returns whether a refusal is a 404 of a proxy, which has no reason of Google: it does not show whether the resource
 * exists.
 */
function isProxied({ codes, status }: Refusal): boolean {
  return status === 404 && codes.length === 0;
}

/**
 * Returns whether Google refuses the request itself, for example because capacity is missing. Missing permissions, and
 * states that pass by themselves, are not final.
 */
export function isFinal(refusal: Refusal): boolean {
  const { codes, status = 0 } = refusal;
  if (isWithoutRoom(refusal) || codes.some((code) => full.includes(code))) return true;
  // A 409 that does not mean an existing resource is a conflict with a change in progress, which passes by itself.
  if (status === 409 && !isKnown(refusal)) return false;
  if (isProxied(refusal)) return false;
  return status >= 400 && status < 500 && ![401, 403, 408, 412, 429].includes(status) && !codes.some(isPassing);
}

export function failureOf(refusal: Refusal, attempt: string): Error {
  const { codes, says, status } = refusal;
  const line = `Failed to ${attempt}: ${says}`;
  const isUnknown = status === 401 || /default credentials|invalid_grant|invalid_client/.test(says);
  if (isUnknown) return denied(line);
  // With this error, the SDK rejects credentials of another universe domain of Google than the configured one.
  if (/universe domain/i.test(says)) return refused("CloudRefused", line);
  if (isFinal(refusal)) return refused("CloudRefused", line);
  return status === 403 && !codes.some(isPassing) ? denied(line) : unavailable(line);
}

function isPassing(code: string): boolean {
  return passing.includes(code);
}

/** Removes quoted values, which may be secrets. */
function withoutValues(message: string): string {
  return message.replaceAll(/': '.*'/gs, "': …").slice(0, 500);
}
