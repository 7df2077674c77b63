/**
 * Reads how users control the renewal of certificates: by an annotation of a NodeVersion, and by cancelling the run;
 * pure.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

/**
 * Annotation of a NodeVersion: "Off" turns the renewal of certificates off, and any other new value asks for another
 * attempt.
 */
export const renewalAnnotation = "ostler.dev/renew-certificates";
/** The condition of a NodeVersion, and its reason after a person has cancelled the run. */
export const renewalCondition = { type: "CertificatesRenewed", cancelled: "RenewalCancelled" };
/** Maximum number of characters of the annotation that are read, because they are stored in a workflow's history. */
const longestSetting = 200;

/**
 * Identifies the cancelled renewal: if the generation or the setting changes, the NodeVersion asks for another renewal.
 */
const CancelledRenewal = z.object({ generation: z.number(), setting: z.string() });
type CancelledRenewal = z.infer<typeof CancelledRenewal>;

interface Said {
  metadata: { generation?: number | undefined; annotations?: Readonly<Record<string, string>> | undefined };
  status?: Readonly<Record<string, unknown>>;
}

/** Returns the value of the annotation; "" for none. */
export function settingOf({ metadata }: Pick<Said, "metadata">): string {
  return (metadata.annotations?.[renewalAnnotation] ?? "").slice(0, longestSetting);
}

/** Returns the renewal that a NodeVersion asks for now. */
export function askedRenewal(version: Pick<Said, "metadata">): CancelledRenewal {
  return { generation: version.metadata.generation ?? 0, setting: settingOf(version) };
}

/**
 * Returns whether a person keeps the renewal from beginning: by the setting "Off", or by a cancellation, which counts
 * until the generation or the annotation of the NodeVersion changes.
 */
export function isHeldBack(version: Said): boolean {
  const asked = askedRenewal(version);
  const cancelled = CancelledRenewal.safeParse(version.status?.["cancelledRenewal"]).data;
  return asked.setting === "Off" || isDeepStrictEqual(cancelled, asked);
}
