/** Pods that answer HTTP on real machines, and what protects them. */

/** Where the guests are and how they leave. */
export const guests = {
  name: "guests",
  namespace: "default",
  replicas: 3,
  port: 8080,
  /** So long they answer on after they were told to go. */
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
    // Nothing of ours needs the API, and nothing here has an account.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [container],
    // One on each machine, always: so each has one to be drained of.
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } },
  };
  return { metadata, spec: { replicas, selector, template: { metadata: { labels }, spec } } };
}
