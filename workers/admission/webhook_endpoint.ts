/** Where API servers find the webhook. */

export interface WebhookEndpoint {
  /** Names and addresses that the certificate has to be for. */
  readonly hosts: readonly string[];
  /** Where the webhook's own Secret is. */
  readonly namespace: string;
  /** The part of a webhook configuration that leads to a path. */
  clientConfig(path: string): object;
  /** Whether such a part leads here, whatever the path. */
  isIn(clientConfig: { service?: { namespace: string; name: string }; url?: string }): boolean;
}

/** How each API server finds it; the same where one cluster has all. */
export interface WebhookEndpoints {
  /** That of profiles and configs. */
  readonly management: WebhookEndpoint;
  /** That of the pools; missing where it asks no webhook. */
  readonly pools?: WebhookEndpoint;
}

interface EndpointSettings {
  webhookEndpoint: string;
  workerWebhookEndpoint: string;
  workerClusterKubeconfig: string;
  systemNamespace: string;
}

/** Reads the settings. */
export function endpointsOf(settings: EndpointSettings): WebhookEndpoints {
  const { webhookEndpoint, workerWebhookEndpoint, workerClusterKubeconfig } = settings;
  const management = endpointOf(webhookEndpoint, settings);
  if (workerClusterKubeconfig === "") return { management, pools: management };
  // A Service of the one cluster is none of the other.
  return workerWebhookEndpoint === ""
    ? { management }
    : { management, pools: endpointOf(workerWebhookEndpoint, settings) };
}

/** Reads `namespace/name` of a Service, or the address of a webhook outside of the cluster. */
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
