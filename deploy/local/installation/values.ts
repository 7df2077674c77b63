/** What an administrator of this cluster tells the chart beside what docs/how-to/install.md says. */
import type { ContainerHost } from "../machines/container_host.ts";
import { secretNames } from "./access_secrets.ts";
import { doorName } from "./tls_door.ts";

/** The labels of machines that Ostler's pods live on. */
export const homeLabels = { carries: "ostler" };

/** Where pods serve metrics. */
export const metricsPort = 9090;

export interface Surroundings {
  host: Pick<ContainerHost, "address" | "settings">;
  apiPort: number;
  noticePort: number;
}

/** Pods live on machines of their own, and reach what they need and nothing else. */
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
      // By its Service, and where that leads.
      apiServer: { to: [...here, { ipBlock: { cidr: "10.96.0.1/32" } }], ports: [443, apiPort] },
      temporal: { to: here },
      // The story asks from the node, which is let through always.
      metrics: { from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }] },
      workerEgress: [{ to: here, ports: [{ port: noticePort, protocol: "TCP" }] }],
    },
  };
}

/** Settings by environment variable, as the chart has them: by flag. */
function flagsOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace("OSTLER_", "").toLowerCase().replaceAll("_", "-"), value]),
  );
}
