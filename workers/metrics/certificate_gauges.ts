/** The leader's metrics of certificates, from the status of all NodeVersions. */
import {
  certificateComponents,
  type CertificateRecord,
  certificateStates,
  stateOf,
} from "../../activities/status/certificate_record.ts";
import type { Metrics } from "./registry.ts";

/**
 * Sets the metrics by component, or removes them if this process does not know the NodeVersions; `now` is epoch ms.
 * Without control planes nothing is exported.
 */
export function setCertificateGauges(
  metrics: Metrics,
  records: readonly CertificateRecord[] | undefined,
  now: number,
): void {
  metrics.clear("ostler_certificates");
  metrics.clear("ostler_certificate_life_left_seconds");
  for (const component of certificateComponents) {
    const own = (records ?? []).filter((record) => record.component === component);
    if (own.length === 0) continue;
    for (const state of certificateStates) {
      const count = own.filter((record) => stateOf(record, now) === state).length;
      metrics.set("ostler_certificates", count, { component, state });
    }
    const expiries = own.flatMap(({ expiresAt }) => expiresAt === undefined ? [] : [Date.parse(expiresAt)]);
    if (expiries.length === 0) continue;
    metrics.set("ostler_certificate_life_left_seconds", (Math.min(...expiries) - now) / 1000, { component });
  }
}
