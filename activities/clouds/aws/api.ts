/** Calls AWS with a timeout, and sorts failures by what can be done about them. */
import type { AutoScaling } from "@aws-sdk/client-auto-scaling";
import type { EC2 } from "@aws-sdk/client-ec2";
import { denied, refused, unavailable } from "../../failures.ts";
import { endOf } from "../end_of.ts";

/** The location of the cloud; credentials come from the default places of the SDK. */
export interface Place {
  region: string;
  endpoint?: string;
  signal?: AbortSignal;
  /** Timeout of a call, and of a request for credentials, in milliseconds (default 10 s). */
  requestMs?: number;
}

export interface Connected {
  scaling: AutoScaling;
  ec2: EC2;
}

interface Asked<T> {
  call: (clouds: Connected, options: { abortSignal: AbortSignal }) => Promise<T>;
  /** The action, in the words that follow "Failed to" in an error message. */
  attempt: string;
}

interface Paged<Page, T> {
  page: (clouds: Connected, next: { NextToken?: string }, options: { abortSignal: AbortSignal }) => Promise<Page>;
  of: (page: Page) => T[] | undefined;
  attempt: string;
  absent?: readonly string[];
}

/** Timeout of a call, in milliseconds. */
export const patienceMs = 10_000;

/** Codes of failures that pass by themselves, besides all answers with a status of 500 and above. */
const passing = [
  ...["Throttling", "ThrottlingException", "Throttled", "ThrottledException", "RequestLimitExceeded"],
  ...["RequestThrottled", "RequestThrottledException", "TooManyRequestsException", "EC2ThrottledException"],
  ...["ScalingActivityInProgress", "ScalingActivityInProgressFault", "ResourceContention", "ResourceContentionFault"],
  ...["IdempotentCallInProgress", "IdempotentCallInProgressFault", "RequestExpired", "RequestTimeout"],
  // Another client, such as one that tags all new instances, is changing the tags of the same instance.
  "ConcurrentTagAccess",
  // AWS reports these codes for failed launches, without an HTTP status.
  ...["InternalError", "InternalFailure", "ServerInternal", "ServiceUnavailable", "Unavailable"],
];
/** Codes of wrong credentials or missing permissions, besides all answers with a status of 401 or 403. */
const denying = [
  ...["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "ExpiredToken"],
  ...["ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "CredentialsProviderError"],
  ...["TokenProviderError", "InvalidIdentityToken", "InvalidIdentityTokenException", "OptInRequired"],
];

export class AwsApi {
  constructor(
    private readonly clouds: Connected,
    private readonly signal: AbortSignal | undefined,
    private readonly requestMs = patienceMs,
  ) {}

  /** Returns undefined if AWS answers with a code of `absent`, which means that the object does not exist. */
  async find<T>({ call, attempt, absent }: Asked<T> & { absent: readonly string[] }): Promise<T | undefined> {
    const { signal } = this;
    try {
      const abortSignal = AbortSignal.any([AbortSignal.timeout(this.requestMs), ...(signal ? [signal] : [])]);
      // The race ends the call at its deadline, because the SDK passes the signal neither to its requests for
      // credentials nor to the rest of an answer.
      return await Promise.race([call(this.clouds, { abortSignal }), endOf(abortSignal)]);
    } catch (error) {
      signal?.throwIfAborted();
      const { name, message, status } = said(error);
      if (absent.some((code) => codeOf(name) === code)) return undefined;
      throw failureOf({ name, status, line: `Failed to ${attempt}: ${name}: ${message.slice(0, 500)}` });
    }
  }

  async ask<T>(asked: Asked<T>): Promise<T> {
    return await this.find({ ...asked, absent: [] }) as T;
  }

  /** Returns the items of all pages of a list; empty if AWS answers with a code of `absent`. */
  async all<Page extends { NextToken?: string | undefined }, T>(
    { page, of, attempt, absent = [] }: Paged<Page, T>,
  ): Promise<T[]> {
    const found: T[] = [];
    let next: { NextToken?: string } = {};
    do {
      const asked = next;
      const answer: Page | undefined = await this.find<Page>({
        ...{ attempt, absent },
        call: (clouds, options) => page(clouds, asked, options),
      });
      found.push(...(answer && of(answer) || []));
      next = answer?.NextToken ? { NextToken: answer.NextToken } : {};
    } while (next.NextToken !== undefined);
    return found;
  }
}

/** Removes the suffix that the SDK adds to some codes and that answers of AWS do not have. */
function codeOf(name: string): string {
  return name.replace(/(Fault|Error|Exception)$/, "");
}

function said(error: unknown): { name: string; message: string; status: number | undefined } {
  const { name = "Unknown", message = "no response", $metadata } = error as {
    name?: string;
    message?: string;
    $metadata?: { httpStatusCode?: number };
  };
  return { name, message, status: $metadata?.httpStatusCode };
}

/** Returns the failure for the code of an error and the status of its answer. */
export function failureOf({ name, status, line }: { name: string; status: number | undefined; line: string }): Error {
  const isStranger = (status === 401 || status === 403) && !passing.includes(name);
  if (isStranger || denying.includes(name)) return denied(line);
  // Only 4xx, except 429, is a refusal: an answer that was cut off has a status too, but its request may have
  // succeeded.
  const isAnswer = status !== undefined && status >= 400 && status < 500 && status !== 429;
  return isAnswer && !passing.includes(name) ? refused("CloudRefused", line) : unavailable(line);
}
