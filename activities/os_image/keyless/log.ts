/** Transparency logs (Rekor 1): when a log took an entry in, by its own word. */
import { Buffer } from "node:buffer";
import { isBy, type TrustedKey } from "../keys.ts";
import type { LogEntry } from "../signed.ts";

/** When it did (epoch ms); undefined where it is none of these logs, or did not promise it. */
export function promisedAt(entry: LogEntry, logs: readonly TrustedKey[]): number | undefined {
  const { body, integratedTime, logIndex, logId: logID, promise } = entry;
  const log = logs.find(({ fingerprint }) => fingerprint === `sha256:${logID}`);
  if (log === undefined || promise === undefined) return undefined;
  // Canonical JSON (RFC 8785) as the log signed it: the names in this order, and no spaces.
  const bytes = Buffer.from(JSON.stringify({ body, integratedTime, logID, logIndex }));
  return isBy(log.key, bytes, promise) ? integratedTime * 1_000 : undefined;
}
