/** Calls Azure with a timeout for each request, and sorts failures by what can be done about them. */
import type { ComputeManagementClient } from "@azure/arm-compute";
import type { ApplicationFailure } from "@temporalio/common";
import { denied, refused, unavailable } from "../../failures.ts";

/** The location of the cloud; credentials come from the default places of the SDK. */
export interface Place {
  subscription: string;
  resourceGroup: string;
  /** Host that issues credentials; default: that of the public cloud. */
  authority?: string;
  endpoint?: string;
  signal?: AbortSignal;
  /** Timeout of a request in milliseconds (default 10 s). */
  requestMs?: number;
  /** Milliseconds that a call waits at most for a change that Azure has not completed (default 10 s). */
  patienceMs?: number;
}

export interface Connected {
  client: ComputeManagementClient;
  resourceGroup: string;
}

interface Asked<T> {
  call: (client: ComputeManagementClient, resourceGroup: string) => Promise<T>;
  /** The action, in the words that follow "Failed to" in an error message. */
  attempt: string;
}

/** The result of a change. */
export type Outcome = { is: "Done" } | { is: "NoRoom"; says: string };

/** Maximum wait that an answer of Azure can request, in milliseconds. */
const longestMs = 60_000;

const noRoom = [
  ...["AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "QuotaExceeded"],
  ...["OverconstrainedZonalAllocationRequest", "SkuNotAvailable", "SubnetIsFull", "PublicIPCountLimitReached"],
];
const denying = [
  ...["CredentialUnavailableError", "AuthenticationError", "AggregateAuthenticationError"],
  "AuthenticationRequiredError",
];
/**
 * Words in the message of error OperationNotAllowed which show that another change of the scale set is in progress, so
 * that the error passes by itself.
 */
const inProgress = /\b(in progress|ongoing|being (\w+ed)|marked for deletion|try again later|retry later)\b/i;
/** Codes of conflicts that do not pass by themselves; all others are conflicts with a change in progress. */
const lasting = [
  ...["ScopeLocked", "PropertyChangeNotAllowed", "ReadOnlyDisabledSubscription", "MissingSubscriptionRegistration"],
  ...["SubscriptionNotRegistered", "DisallowedOperation"],
];
/**
 * Codes of a missing resource group or subscription: a 404 with such a code does not prove that the resource is
 * deleted.
 */
const placeless = ["ResourceGroupNotFound", "SubscriptionNotFound", "InvalidSubscriptionId"];

/** Failures of requests that Azure refused because of another change, so they had no effect. */
const conflicts = new WeakSet<object>();

/** Returns whether Azure refused a request because of another change, which is in progress or came first. */
export function isConflict(error: unknown): error is ApplicationFailure {
  return typeof error === "object" && error !== null && conflicts.has(error);
}

export class AzureApi {
  constructor(private readonly connected: Connected, private readonly signal: AbortSignal | undefined) {}

  async ask<T>({ call, attempt }: Asked<T>): Promise<T> {
    try {
      return await this.#send(call);
    } catch (error) {
      throw this.#failure(error, attempt);
    }
  }

  /** Returns undefined if the resource does not exist. */
  async find<T>({ call, attempt }: Asked<T>): Promise<T | undefined> {
    try {
      return await this.#send(call);
    } catch (error) {
      const { status, code } = saidBy(error);
      if (status === 404 && !isProxied(error) && !placeless.includes(code)) return undefined;
      throw this.#failure(error, attempt);
    }
  }

  /** Sends a change that may need capacity; missing capacity is returned, not thrown. */
  async change({ call, attempt }: Asked<unknown>): Promise<Outcome> {
    try {
      await this.#send(call);
      return { is: "Done" };
    } catch (error) {
      const { status, code, message } = saidBy(error);
      const says = `${code}: ${message}`;
      const isAnswer = status !== undefined && status < 500 && status !== 429;
      if (isAnswer && isNoRoom(code, message)) return { is: "NoRoom", says };
      throw this.#failure(error, attempt);
    }
  }

  async #send<T>(call: Asked<T>["call"]): Promise<T> {
    const { client, resourceGroup } = this.connected;
    return await call(client, resourceGroup);
  }

  #failure(error: unknown, attempt: string): unknown {
    if (this.signal?.aborted) return this.signal.reason;
    const { name, status, code, message, afterMs } = saidBy(error);
    const line = `Failed to ${attempt}: ${code}: ${message}`;
    if (status === 401 || status === 403 || denying.includes(name)) return denied(line);
    if (status === 409 && isLasting(code, message)) return refused("CloudRefused", line);
    // 409 and 412 are conflicts with other changes. Only 4xx is a refusal: an answer that was cut off has a status too.
    const isAnswer = status !== undefined && status >= 400 && status < 500 && ![408, 409, 412, 429].includes(status);
    const failure = isAnswer && !isProxied(error) ? refused("CloudRefused", line) : unavailable(line, afterMs);
    if (status === 409 || status === 412) conflicts.add(failure);
    return failure;
  }
}

/** Returns whether an error of Azure means missing capacity; only the message reveals a quota. */
export function isNoRoom(code: string, message: string): boolean {
  return noRoom.includes(code) || (code === "OperationNotAllowed" && /\bquota\b/i.test(message));
}

/**
 * Returns whether a conflict does not pass by itself. Azure uses one code for quotas, changes in progress, and
 * operations that it never allows, so only the message distinguishes them.
 */
function isLasting(code: string, message: string): boolean {
  if (code === "OperationNotAllowed") return !isNoRoom(code, message) && !inProgress.test(message);
  return lasting.includes(code);
}

/**
 * Returns whether an error is a 404 of a proxy, which has no error code of Azure: it does not show whether the resource
 * exists.
 */
function isProxied(error: unknown): boolean {
  const { statusCode, code } = error as { statusCode?: number; code?: string };
  return statusCode === 404 && !code;
}

interface Said {
  name: string;
  status: number | undefined;
  code: string;
  message: string;
  /** Milliseconds that Azure asks to wait; an earlier request prolongs the throttling. */
  afterMs: number | undefined;
}

function saidBy(error: unknown): Said {
  const { name = "Error", statusCode, code, message = "no response", response } = error as {
    name?: string;
    statusCode?: number;
    code?: string;
    message?: string;
    response?: { headers?: { get?: (name: string) => string | undefined } };
  };
  const after = response?.headers?.get?.("retry-after") ?? "";
  const afterMs = /^\d{1,9}$/.test(after) ? Math.min(Number(after) * 1_000, longestMs) : undefined;
  return { name, status: statusCode, code: code ?? name, message: message.slice(0, 500), afterMs };
}
