/**
 * The reason and message of an image's condition; thrown by checks, and converted to an outcome at the end of an
 * activity.
 */
import { ApplicationFailure } from "@temporalio/common";
import type { ImageDoubt, ImageFault, ImageRefusal, TransientType } from "../../workflows/contracts/mod.ts";

export class Unfit extends Error {
  readonly reason: ImageFault | ImageDoubt;

  constructor(reason: ImageFault | ImageDoubt, message: string) {
    // Replaces control characters and limits the length, because the message may contain text of a registry.
    super(message.replaceAll(/\p{C}/gu, "\u{fffd}").slice(0, longestMessage));
    this.reason = reason;
  }
}

/** Maximum characters of a message. */
const longestMessage = 1_000;

/** Number of attempts after which a registry counts as unreachable; six that fail immediately take half a minute. */
export const registryTries = 6;

/** Returns the failure of an unreachable registry, which Temporal retries unless this was the last attempt. */
export function unreachable(message: string, attempt: number): ApplicationFailure {
  const type: TransientType = "RegistryUnreachable";
  return ApplicationFailure.create({ message, type, nonRetryable: attempt >= registryTries });
}

/** Thrown if the registry did not answer a request about the image. */
export class RegistryAway extends Error {}

/** Returns the result of `work`, or the refusal for an Unfit that it throws. */
export async function orRefused<T>(generation: number, work: () => Promise<T>): Promise<T | ImageRefusal> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const { reason, message } = error;
    if (isDoubt(reason)) return { outcome: "Unknown", generation, reason, message };
    return { outcome: "Refused", generation, reason, message };
  }
}

/** Returns whether the reason concerns access to the registry, so that nothing is known about the image itself. */
function isDoubt(reason: ImageFault | ImageDoubt): reason is ImageDoubt {
  return (["RegistryUnreachable", "RegistryDenied", "CredentialsMissing"] satisfies ImageDoubt[] as string[])
    .includes(reason);
}
