/** What Google says when it does not do what it was asked, sorted by what can be done about it. */
import type { compute_v1 } from "@googleapis/compute";
import { denied, refused, unavailable } from "../../failures.ts";

/** A no, with the words by which Google tells one kind from another. */
export interface Refusal {
  codes: string[];
  says: string;
  /** Of its answer; undefined where there was none. */
  status: number | undefined;
}

const passing = [
  ...["rateLimitExceeded", "userRateLimitExceeded", "concurrentLimitExceeded", "resourceNotReady", "backendError"],
  ...["resourceInUseByAnotherResource", "operationInProgress", "conditionNotMet", "internalError"],
  ...["RATE_LIMIT_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED", "RESOURCE_NOT_READY", "CONDITION_NOT_MET"],
  ...["RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", "TIMEOUT"],
  ...["resourceOperationRateExceeded", "OPERATION_CANCELED", "ABORTED"],
];
/** Of a zone, a region, a quota, addresses or a reservation: each has names with its own beginning and end. */
const noRoom = /RESOURCE_POOL_EXHAUSTED|QUOTA_EXCEEDED|^quotaExceeded$|IP_SPACE_EXHAUSTED|STOCKOUT|CAPACITY_EXCEEDED/;
/** What an operation failed with that we, or who works for us there, may not do. */
const forbidden = ["PERMISSIONS_ERROR", "FORBIDDEN", "PERMISSION_DENIED"];
const full = ["limitExceeded", "LIMIT_EXCEEDED"];
const known = ["alreadyExists", "RESOURCE_ALREADY_EXISTS"];

/** What a call failed with. */
export function refusalOf(error: unknown): Refusal {
  const { message = "no response", status, response } = error as {
    message?: string;
    status?: number;
    response?: { data?: { error?: { errors?: { reason?: string }[] } } };
  };
  const codes = (response?.data?.error?.errors ?? []).flatMap(({ reason }) => reason ?? []);
  return { codes, says: withoutValues(message), status };
}

/** What an operation failed with, or the last try to make a machine; undefined where it did not. */
export function refusalIn(error: compute_v1.Schema$Operation["error"]): Refusal | undefined {
  const all = error?.errors ?? [];
  if (all.length === 0) return undefined;
  const says = all.map(({ code = "Unknown", message = "" }) => `${code}: ${message}`).join("; ");
  const codes = all.flatMap(({ code }) => code ?? []);
  return { codes, says: withoutValues(says), status: codes.some((code) => forbidden.includes(code)) ? 403 : 400 };
}

/** Nothing there to be had now; only time or a person mends it. */
export function isWithoutRoom({ codes, status }: Refusal): boolean {
  return status !== 429 && codes.some((code) => noRoom.test(code));
}

/** What was to be made is there. */
export function isKnown({ codes, status }: Refusal): boolean {
  return codes.length === 0 ? status === 409 : codes.some((code) => known.includes(code));
}

/** What was asked for is not there, and where it would be is. */
export function isAbsent({ says, status }: Refusal): boolean {
  return status === 404 && !/'projects\/[^/']+' was not found/.test(says);
}

/** Whether it is an answer to what was asked, and no matter of the moment or of who asked. */
export function isFinal(refusal: Refusal): boolean {
  const { codes, status = 0 } = refusal;
  if (isWithoutRoom(refusal) || codes.some((code) => full.includes(code))) return true;
  // All other conflicts are with somebody who is at it.
  if (status === 409 && !isKnown(refusal)) return false;
  return status >= 400 && status < 500 && ![401, 403, 408, 412, 429].includes(status) && !codes.some(isPassing);
}

export function failureOf(refusal: Refusal, attempt: string): Error {
  const { codes, says, status } = refusal;
  const line = `Failed to ${attempt}: ${says}`;
  const isUnknown = status === 401 || /default credentials|invalid_grant|invalid_client/.test(says);
  if (isUnknown) return denied(line);
  // The SDK itself sees that credentials are of one of Google's clouds, and it was told of another.
  if (/universe domain/i.test(says)) return refused("CloudRefused", line);
  if (isFinal(refusal)) return refused("CloudRefused", line);
  return status === 403 && !codes.some(isPassing) ? denied(line) : unavailable(line);
}

function isPassing(code: string): boolean {
  return passing.includes(code);
}

/** Google quotes what it does not like, and that may be a secret. */
function withoutValues(message: string): string {
  return message.replaceAll(/': '.*'/gs, "': …").slice(0, 500);
}
