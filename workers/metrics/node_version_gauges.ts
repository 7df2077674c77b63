/** The leader's metrics of NodeVersions, from their status: conditions, and the certificates of control planes. */
import {
  certificateComponents,
  type CertificateRecord,
  certificateStates,
  stateOf,
} from "../../activities/status/certificate_record.ts";
import type { Metrics } from "./registry.ts";

/** The conditions that are exported; those of other controllers are not. */
const exported = ["Ready", "KubernetesUpgraded", "CertificatesRenewed"];
/** Maximum number of NodeVersions with metrics of their own. */
const mostVersions = 100;

/** The status of a NodeVersion, as far as metrics show it. */
export interface VersionStatus {
  name: string;
  conditions: readonly { type: string; reason: string }[];
  certificates: readonly CertificateRecord[];
}

/** Sets the metrics, or removes them if this process does not know the NodeVersions; `now` is epoch ms. */
export function setVersionGauges(metrics: Metrics, versions: readonly VersionStatus[] | undefined, now: number): void {
  const all = versions ?? [];
  metrics.clear("ostler_node_version_info");
  for (const { name, conditions } of all.slice(0, mostVersions)) {
    for (const { type, reason } of conditions) {
      if (exported.includes(type)) metrics.set("ostler_node_version_info", 1, { name, condition: type, reason });
    }
  }
  setCertificateGauges(metrics, all.flatMap(({ certificates }) => certificates), now);
}

/** Exports nothing about a component that has no certificates. */
function setCertificateGauges(metrics: Metrics, records: readonly CertificateRecord[], now: number): void {
  metrics.clear("ostler_certificates");
  metrics.clear("ostler_certificate_life_left_seconds");
  for (const component of certificateComponents) {
    const own = records.filter((record) => record.component === component);
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
