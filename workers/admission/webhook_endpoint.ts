/** The address of the webhook for API servers. */

export interface WebhookEndpoint {
  /** Names and addresses that the certificate must have. */
  readonly hosts: readonly string[];
  /** Namespace of the webhook's own Secret. */
  readonly namespace: string;
  /** Returns the `clientConfig` with which a webhook configuration addresses a path of this webhook. */
  clientConfig(path: string): object;
  /** Returns whether a `clientConfig` addresses this webhook, on any path. */
  isIn(clientConfig: { service?: { namespace: string; name: string }; url?: string }): boolean;
}

/** The address of the webhook for each API server; with a single cluster, both are the same. */
export interface WebhookEndpoints {
  /** For the cluster with profiles and configs. */
  readonly management: WebhookEndpoint;
  /** For the cluster with the pools; missing if that cluster calls no webhook. */
  readonly pools?: WebhookEndpoint;
}

interface EndpointSettings {
  webhookEndpoint: string;
  workerWebhookEndpoint: string;
  workerClusterKubeconfig: string;
  systemNamespace: string;
}

/** Returns the addresses in the settings. */
export function endpointsOf(settings: EndpointSettings): WebhookEndpoints {
  const { webhookEndpoint, workerWebhookEndpoint, workerClusterKubeconfig } = settings;
  const management = endpointOf(webhookEndpoint, settings);
  if (workerClusterKubeconfig === "") return { management, pools: management };
  // A Service of the management cluster is not reachable from the cluster with the pools.
  return workerWebhookEndpoint === ""
    ? { management }
    : { management, pools: endpointOf(workerWebhookEndpoint, settings) };
}

/** Reads `namespace/name` of a Service, or the address of a webhook outside the cluster. */
export function endpointOf(text: string, { systemNamespace }: { systemNamespace: string }): WebhookEndpoint {
  if (text.startsWith("https://")) {
    const { origin, hostname } = new URL(text);
    return {
      hosts: [hostname.replace(/^\[|\]$/g, "")],
      namespace: systemNamespace,
      clientConfig: (path) => ({ url: `${origin}${path}` }),
      isIn: ({ url = "" }) => url.startsWith(`${origin}/`),
    };
  }
  const [namespace = "", name = ""] = text.split("/");
  return {
    hosts: [`${name}.${namespace}.svc`],
    namespace,
    clientConfig: (path) => ({ service: { namespace, name, path, port: 443 } }),
    isIn: ({ service }) => service?.namespace === namespace && service.name === name,
  };
}
