/** The chart values for this cluster, in addition to those in docs/how-to/install.md. */
import type { ContainerHost } from "../machines/container_host.ts";
import { secretNames } from "./access_secrets.ts";
import { doorName } from "./tls_door.ts";

/** The label of the nodes on which Ostler's pods run. */
export const homeLabels = { carries: "ostler" };

/** The metrics port of pods. */
export const metricsPort = 9090;

export interface Surroundings {
  host: Pick<ContainerHost, "address" | "settings">;
  apiPort: number;
  noticePort: number;
}

/** Returns values that place pods on machines of their own, and allow only the traffic that they need. */
export function valuesOf({ host, apiPort, noticePort }: Surroundings): object {
  const here = [{ ipBlock: { cidr: `${host.address}/32` } }];
  return {
    nodeSelector: homeLabels,
    settings: {
      ...flagsOf(host.settings),
      "metrics-address": `0.0.0.0:${metricsPort}`,
      "notify-webhook-file": "/etc/ostler/notices/webhook",
      "notify-template-file": "/etc/ostler/notices/template.json",
    },
    temporal: {
      clientCertificateSecret: secretNames.client,
      serverCaSecret: secretNames.server,
      serverName: doorName,
    },
    notices: { secret: secretNames.notices },
    networkPolicy: {
      enabled: true,
      // The API server's Service, and the endpoint of that Service.
      apiServer: { to: [...here, { ipBlock: { cidr: "10.96.0.1/32" } }], ports: [443, apiPort] },
      temporal: { to: here },
      // No pod can scrape, because namespace "monitoring" does not exist. The demo scrapes each pod from its own node,
      // whose traffic NetworkPolicies always allow.
      metrics: { from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }] },
      workerEgress: [{ to: here, ports: [{ port: noticePort, protocol: "TCP" }] }],
    },
  };
}

/**
 * Returns settings that are named by environment variable, such as OSTLER_PAUSE_IMAGE, with the names that the chart's
 * `settings` have, such as pause-image.
 */
function flagsOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace("OSTLER_", "").toLowerCase().replaceAll("_", "-"), value]),
  );
}
