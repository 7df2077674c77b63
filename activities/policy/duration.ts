/** Durations as written in a policy: hours, minutes and seconds, such as "5m" or "1h30m". */
import { z } from "zod";

const form = /^(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?$/;

/** A duration, zero included; the CRD has the same pattern. */
export const Duration = z.string().min(2).regex(form, 'must be a duration such as "30s", "5m" or "1h30m"');

/** A duration longer than zero. */
export const PositiveDuration = Duration.refine((text) => millisecondsOf(text) > 0, "must be longer than 0s");

/** Returns the milliseconds of a duration; NaN for any other text. */
export function millisecondsOf(text: string): number {
  const parts = form.exec(text);
  if (!parts || text === "") return NaN;
  const [hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
