/** Transparency logs (Rekor 1): the signed time at which a log recorded an entry. */
import { Buffer } from "node:buffer";
import { isBy, type TrustedKey } from "../keys.ts";
import type { LogEntry } from "../signed.ts";

/** Returns the time of an entry (epoch ms); undefined unless one of these logs signed it. */
export function promisedAt(entry: LogEntry, logs: readonly TrustedKey[]): number | undefined {
  const { body, integratedTime, logIndex, logId: logID, promise } = entry;
  const log = logs.find(({ fingerprint }) => fingerprint === `sha256:${logID}`);
  if (log === undefined || promise === undefined) return undefined;
  // The log signs canonical JSON (RFC 8785): the names in this order, without spaces.
  const bytes = Buffer.from(JSON.stringify({ body, integratedTime, logID, logIndex }));
  return isBy(log.key, bytes, promise) ? integratedTime * 1_000 : undefined;
}
