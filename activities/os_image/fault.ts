/** What is wrong with an image, as its status says it; thrown where it is found, and caught where an activity ends. */
import { ApplicationFailure } from "@temporalio/common";
import type { ImageDoubt, ImageFault, ImageRefusal, TransientType } from "../../workflows/contracts/mod.ts";

export class Unfit extends Error {
  readonly reason: ImageFault | ImageDoubt;

  constructor(reason: ImageFault | ImageDoubt, message: string) {
    // A registry may have had its say in it.
    super(message.replaceAll(/\p{C}/gu, "\u{fffd}").slice(0, longestMessage));
    this.reason = reason;
  }
}

/** What a condition takes and people read. */
const longestMessage = 1_000;

/** Tries before a registry counts as away: half a minute, where it says so at once. */
export const registryTries = 6;

/** Nobody answers for now: tried again, until that was done often enough. */
export function unreachable(message: string, attempt: number): ApplicationFailure {
  const type: TransientType = "RegistryUnreachable";
  return ApplicationFailure.create({ message, type, nonRetryable: attempt >= registryTries });
}

/** The registry gave no answer that says anything about the image. */
export class RegistryAway extends Error {}

/** An answer of `work`, or the refusal that it ended with. */
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

/** What a registry that does not let us look says nothing about. */
function isDoubt(reason: ImageFault | ImageDoubt): reason is ImageDoubt {
  return (["RegistryUnreachable", "RegistryDenied", "CredentialsMissing"] satisfies ImageDoubt[] as string[])
    .includes(reason);
}
