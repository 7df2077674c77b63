/** Calls of Azure: each ends in time, and what it failed with is sorted by what can be done about it. */
import type { ComputeManagementClient } from "@azure/arm-compute";
import { denied, refused, unavailable } from "../../failures.ts";

/** Where the cloud is; credentials come from where the SDK looks for them. */
export interface Place {
  subscription: string;
  resourceGroup: string;
  /** Who gives out credentials; the one of the public cloud unless told. */
  authority?: string;
  endpoint?: string;
  signal?: AbortSignal;
}

export interface Connected {
  client: ComputeManagementClient;
  resourceGroup: string;
}

interface Asked<T> {
  call: (
    client: ComputeManagementClient,
    resourceGroup: string,
    options: { abortSignal: AbortSignal },
  ) => Promise<T>;
  /** Completes "Failed to …". */
  attempt: string;
}

/** What became of a change. */
export type Outcome = { is: "Done" } | { is: "NoRoom"; says: string };

/** Milliseconds until a call has failed. */
const patienceMs = 10_000;

/** The same for which it is left alone because it said so. */
const longestMs = 60_000;

const noRoom = [
  ...["AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "QuotaExceeded"],
  ...["OverconstrainedZonalAllocationRequest", "SkuNotAvailable", "SubnetIsFull", "PublicIPCountLimitReached"],
];
const denying = [
  ...["CredentialUnavailableError", "AuthenticationError", "AggregateAuthenticationError"],
  "AuthenticationRequiredError",
];
/** Conflicts that no waiting ends; all others are with somebody who is at it. */
const lasting = [
  ...["ScopeLocked", "PropertyChangeNotAllowed", "ReadOnlyDisabledSubscription", "MissingSubscriptionRegistration"],
  ...["SubscriptionNotRegistered", "DisallowedOperation"],
];
/** Nothing is there to look into: whether what was asked for is gone nobody can tell. */
const placeless = ["ResourceGroupNotFound", "SubscriptionNotFound", "InvalidSubscriptionId"];

export class AzureApi {
  constructor(private readonly connected: Connected, private readonly signal: AbortSignal | undefined) {}

  async ask<T>({ call, attempt }: Asked<T>): Promise<T> {
    try {
      return await this.#send(call);
    } catch (error) {
      throw this.#failure(error, attempt);
    }
  }

  /** Undefined for what is not there. */
  async find<T>({ call, attempt }: Asked<T>): Promise<T | undefined> {
    try {
      return await this.#send(call);
    } catch (error) {
      const { status, code } = saidBy(error);
      if (status === 404 && !placeless.includes(code)) return undefined;
      throw this.#failure(error, attempt);
    }
  }

  /** A change that asks for a place to run. */
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
    const ends = [AbortSignal.timeout(patienceMs), ...(this.signal ? [this.signal] : [])];
    return await call(client, resourceGroup, { abortSignal: AbortSignal.any(ends) });
  }

  #failure(error: unknown, attempt: string): unknown {
    if (this.signal?.aborted) return this.signal.reason;
    const { name, status, code, message, afterMs } = saidBy(error);
    const line = `Failed to ${attempt}: ${code}: ${message}`;
    if (status === 401 || status === 403 || denying.includes(name)) return denied(line);
    if (status === 409 && lasting.includes(code)) return refused("CloudRefused", line);
    // 409 and 412: somebody else is at it. An answer that was cut off has a status too, and no sense.
    const isAnswer = status !== undefined && status >= 400 && status < 500 && ![408, 409, 412, 429].includes(status);
    return isAnswer ? refused("CloudRefused", line) : unavailable(line, afterMs);
  }
}

/** Whether a code of Azure's says that there is no room; quotas are told by their sentence alone. */
export function isNoRoom(code: string, message: string): boolean {
  return noRoom.includes(code) || (code === "OperationNotAllowed" && /\bquota\b/i.test(message));
}

interface Said {
  name: string;
  status: number | undefined;
  code: string;
  message: string;
  /** For which it wants to be left alone; whoever asks earlier is throttled for longer. */
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
