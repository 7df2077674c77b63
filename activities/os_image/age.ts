/** Limits the age of an image at its admission. */
import type { ResolvedImage } from "../../workflows/contracts/mod.ts";
import { Unfit } from "./fault.ts";

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;
/**
 * Maximum time (ms) by which a creation time may be in the future, because clocks differ. A later time is refused,
 * because the image would count as young for too long.
 */
const aheadMs = unitMs.h;

/**
 * Throws Unfit (TooOld) if the image is older than `maxAge`, such as "30d" or "1d12h", or if its creation time is
 * missing or more than an hour in the future. Accepts every image if `maxAge` is undefined.
 */
export function ensureYoung({ digest, created }: ResolvedImage, maxAge: string | undefined, now: number): void {
  if (maxAge === undefined) return;
  const age = now - Date.parse(created ?? "");
  if (Number.isNaN(age)) throw new Unfit("TooOld", `Image ${digest} does not have a creation time`);
  if (age < -aheadMs) {
    throw new Unfit("TooOld", `The creation time ${created} of image ${digest} is in the future`);
  }
  if (age > durationMs(maxAge)) {
    throw new Unfit("TooOld", `Image ${digest} was created at ${created}, which is more than ${maxAge} ago`);
  }
}

/** Returns the milliseconds of a valid duration. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)([dhms])/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs], 0);
}
