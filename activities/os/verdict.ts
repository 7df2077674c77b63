/** Parses the result that a hand, the pod of an order, reports. A compromised node may report anything. */
import { z } from "zod";
import type { OsOutcome } from "../../workflows/contracts/mod.ts";
import { bootIdPattern, digestPattern } from "./order.ts";
import { refusalIn } from "./refusal.ts";

/** Maximum bytes of a termination message. */
export const mostBytes = 4096;
const mostChars = 1000;

const words = z.string().max(mostBytes).transform(plain);
const digest = z.string().regex(digestPattern);
const orNone = digest.or(z.literal(""));

const Status = z.object({ bootId: z.string().regex(bootIdPattern), booted: digest, staged: orNone, fallback: orNone });
const Finding = z.strictObject({
  kind: z.enum(["BootSpace", "EtcChanged", "OtherUpdater", "LayeredPackages"]),
  stops: z.boolean(),
  message: words,
});
const Verdict = z.strictObject({
  outcome: z.enum(["Done", "Refused", "Failed"]),
  reason: z.enum(["DriverMissing", "NotStaged", "NothingToGoBackTo", "PullStalled", "DriverFailed", ""]),
  message: words,
  bootId: z.string(),
  booted: z.string(),
  staged: z.string(),
  fallback: z.string(),
  findings: z.array(Finding).max(16),
});

/** Returns the outcome in a termination message; undefined if it is not a valid result. */
export function verdictIn(said: string): OsOutcome | undefined {
  const verdict = said.length > mostBytes ? undefined : Verdict.safeParse(jsonIn(said)).data;
  if (!verdict) return undefined;
  const { outcome, reason, message, findings } = verdict;
  if (outcome === "Failed") return { outcome: "Refused", reason: refusalIn(message), message };
  if (outcome === "Refused") return { outcome, reason: reason || "DriverFailed", message };
  const status = Status.safeParse(verdict).data;
  return status && { outcome, status, findings };
}

/**
 * Returns text of a node for people: one line without control characters, characters that change the direction of text,
 * and credentials of registries. Limited to the end of the text, where errors are.
 */
export function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").replace(/ {2,}/g, " ").trim();
  // A password may contain "/" and "@", and a script may have cut the text within a login.
  const masked = line.replace(/:\/\/\S*@(?!sha256:)/g, "://").replace(/^\S*@(?!sha256:)/, "");
  return masked.replace(/\b(Bearer|Basic) \S+/gi, "$1 …").slice(-mostChars);
}

/** Returns the parsed JSON of a text; undefined if the text is not JSON. */
export function jsonIn(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return undefined; // the caller reports an unreadable text
  }
}
