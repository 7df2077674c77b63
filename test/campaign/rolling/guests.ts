/** Guests: pods that answer HTTP on real machines, with their Service and PodDisruptionBudget. */

/** The names and numbers of the guests' Deployment. */
export const guests = {
  name: "guests",
  namespace: "default",
  replicas: 3,
  port: 8080,
  /** Seconds for which a guest still answers after SIGTERM. */
  drainSeconds: 3,
} as const;

const { name, namespace, replicas, port, drainSeconds } = guests;
const labels = { app: name };
const selector = { matchLabels: labels };
const metadata = { name, namespace };

/** The paths of collections with what to create there: Deployment, Service and PodDisruptionBudget. */
export function guestObjects(image: string): [path: string, body: object][] {
  return [
    [`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment(image)],
    [`/api/v1/namespaces/${namespace}/services`, { metadata, spec: { selector: labels, ports: [{ port }] } }],
    [`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
      metadata,
      spec: { minAvailable: replicas - 1, selector },
    }],
  ];
}

function deployment(image: string): object {
  const container = {
    name: "server",
    image,
    env: [{ name: "PORT", value: `${port}` }, { name: "DRAIN_TIME", value: `${drainSeconds}s` }],
    readinessProbe: { httpGet: { path: "/ready", port }, periodSeconds: 1 },
  };
  const apart = { topologyKey: "kubernetes.io/hostname", labelSelector: selector };
  const spec = {
    terminationGracePeriodSeconds: 30,
    // The guests need no API access, so they have no account.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [container],
    // At most one guest runs on a machine; there are as many guests as machines, so each drain evicts one.
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } },
  };
  return { metadata, spec: { replicas, selector, template: { metadata: { labels }, spec } } };
}
