/** Calls of AWS: each ends in time, and what it failed with is sorted by what can be done about it. */
import type { AutoScaling } from "@aws-sdk/client-auto-scaling";
import type { EC2 } from "@aws-sdk/client-ec2";
import { denied, refused, unavailable } from "../../failures.ts";

/** Where the cloud is; credentials come from where the SDK looks for them. */
export interface Place {
  region: string;
  endpoint?: string;
  signal?: AbortSignal;
}

export interface Connected {
  scaling: AutoScaling;
  ec2: EC2;
}

interface Asked<T> {
  call: (clouds: Connected, options: { abortSignal: AbortSignal }) => Promise<T>;
  /** Completes "Failed to …". */
  attempt: string;
}

interface Paged<Page, T> {
  page: (clouds: Connected, next: { NextToken?: string }, options: { abortSignal: AbortSignal }) => Promise<Page>;
  of: (page: Page) => T[] | undefined;
  attempt: string;
  absent?: readonly string[];
}

/** Milliseconds until a call has failed. */
const patienceMs = 10_000;

/** What passes by itself, beside whatever AWS says with a status of 500 and above. */
const passing = [
  ...["Throttling", "ThrottlingException", "Throttled", "ThrottledException", "RequestLimitExceeded"],
  ...["RequestThrottled", "RequestThrottledException", "TooManyRequestsException", "EC2ThrottledException"],
  ...["ScalingActivityInProgress", "ScalingActivityInProgressFault", "ResourceContention", "ResourceContentionFault"],
  ...["IdempotentCallInProgress", "IdempotentCallInProgressFault", "RequestExpired", "RequestTimeout"],
  // Told without a status where they befell a launch.
  ...["InternalError", "InternalFailure", "ServerInternal", "ServiceUnavailable", "Unavailable"],
];
/** Who we are, or what we may, beside whatever AWS says with a status of 401 or 403. */
const denying = [
  ...["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "ExpiredToken"],
  ...["ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "CredentialsProviderError"],
  ...["TokenProviderError", "InvalidIdentityToken", "InvalidIdentityTokenException", "OptInRequired"],
];

export class AwsApi {
  constructor(private readonly clouds: Connected, private readonly signal: AbortSignal | undefined) {}

  /** Undefined where AWS answers with one of these codes, which mean that it is not there. */
  async find<T>({ call, attempt, absent }: Asked<T> & { absent: readonly string[] }): Promise<T | undefined> {
    const { signal } = this;
    try {
      const ends = [AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])];
      return await call(this.clouds, { abortSignal: AbortSignal.any(ends) });
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

  /** All pages of a list; none where it is of what is not there. */
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

/** The SDK names some failures as their types, whose names end in a word that the wire does not say. */
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

/** By its code and the status that it came with. */
export function failureOf({ name, status, line }: { name: string; status: number | undefined; line: string }): Error {
  const isStranger = (status === 401 || status === 403) && !passing.includes(name);
  if (isStranger || denying.includes(name)) return denied(line);
  // An answer that was cut off has a status too, and no sense.
  const isAnswer = status !== undefined && status >= 400 && status < 500 && status !== 429;
  return isAnswer && !passing.includes(name) ? refused("CloudRefused", line) : unavailable(line);
}
