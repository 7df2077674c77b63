/** The registration of the webhook with API servers: the CA to trust, and whether it holds new machines. */
import { isDeepStrictEqual } from "node:util";
import { osmCertificate } from "../../activities/handover/names.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { admissionGroup, holdName } from "../../activities/kube/machine_deployment.ts";
import { ifFound, statusOf } from "../../activities/kube/status.ts";
import type { WebhookEndpoint, WebhookEndpoints } from "./webhook_endpoint.ts";

export interface Registration {
  readonly endpoints: WebhookEndpoints;
  /** PEM of the authorities to trust; missing if another component, such as cert-manager, writes them. */
  readonly trusted?: string;
  /** Whether the webhook holds new machines. */
  readonly holds: boolean;
}

/** A webhook configuration as read. */
interface Found {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly webhooks: Webhook[];
}

interface Webhook {
  readonly clientConfig: { service?: { namespace: string; name: string }; url?: string; caBundle?: string };
}

/**
 * A webhook configuration, which the manifests create. In the manifests, the configuration that holds new machines has
 * an empty list of webhooks.
 */
interface Configuration {
  readonly kube: Kube;
  readonly endpoint: WebhookEndpoint;
  readonly plural: "mutatingwebhookconfigurations" | "validatingwebhookconfigurations";
  readonly name: string;
}

const ofPools = "operatingsystemmanager.k8c.io";

// Returns the configurations of the webhooks that validate objects. In a management cluster, each installation has its
// own configuration for profiles, named after their namespace.
function judgingOf(kube: Kube, { management: endpoint, pools }: WebhookEndpoints): Configuration[] {
  const [plural, name] = ["validatingwebhookconfigurations", ofPools] as const;
  const profiles = kube.management
    ? { kube: kube.management.kube, endpoint, plural, name: `${kube.management.namespace}.${name}` }
    : { kube, endpoint, plural, name };
  if (!pools) return [profiles];
  return [profiles, { kube, endpoint: pools, plural: "mutatingwebhookconfigurations", name: ofPools }];
}

function holdingOf(kube: Kube, endpoint: WebhookEndpoint): Configuration {
  return { kube, endpoint, plural: "mutatingwebhookconfigurations", name: holdName };
}

/**
 * "all": every configuration is up to date; "some": some do not exist; "outpaced": another process changed one during
 * the update.
 */
type Registered = "all" | "some" | "outpaced";

/** Updates the existing webhook configurations: their CA bundles, and the webhook that holds new machines. */
export async function register(kube: Kube, registration: Registration): Promise<Registered> {
  const { endpoints, trusted, holds } = registration;
  const caBundle = trusted === undefined ? undefined : Buffer.from(trusted).toString("base64");
  const told: Registered[] = [];
  if (caBundle !== undefined) {
    for (const configuration of judgingOf(kube, endpoints)) {
      const { endpoint } = configuration;
      told.push(await keep(configuration, (found) => trusting(found, endpoint, caBundle)));
    }
  }
  const { pools } = endpoints;
  if (pools) {
    told.push(
      await keep(holdingOf(kube, pools), (found) => {
        const bundle = caBundle ?? bundleOf(found.webhooks);
        return { ...found, webhooks: holds ? [holdWebhook(pools, bundle)] : [] };
      }),
    );
  }
  if (told.includes("outpaced")) return "outpaced";
  return told.includes("some") ? "some" : "all";
}

async function keep(
  { kube, plural, name }: Configuration,
  wantedOf: (found: Found) => Found,
): Promise<Registered> {
  const place = { ...admissionGroup, plural, name };
  const read = await ifFound<unknown>(kube.custom.getClusterCustomObject(place));
  if (!read) return "some";
  const found = { webhooks: [], ...read } as Found;
  const wanted = wantedOf(found);
  if (isDeepStrictEqual(wanted, found)) return "all";
  try {
    // The update has the resource version that was read: of two concurrent webhooks one is refused and retries.
    await kube.custom.replaceClusterCustomObject({ ...place, body: wanted });
    return "all";
  } catch (error) {
    if (statusOf(error) === 409) return "outpaced";
    throw error;
  }
}

/**
 * Sets the CA bundle, except for webhooks of Operating System Manager, which have the same names but their own
 * authority. Also ends the injection of that authority, because cert-manager would write it over the CA bundle.
 */
function trusting(found: Found, endpoint: WebhookEndpoint, caBundle: string): Found {
  const isOurs = ({ clientConfig }: Webhook): boolean => endpoint.isIn(clientConfig);
  if (!found.webhooks.some(isOurs)) return found;
  const webhooks = found.webhooks.map((webhook) =>
    isOurs(webhook) ? { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } } : webhook
  );
  return { ...withoutInjection(found), webhooks };
}

/** Annotation of cert-manager with a Certificate, as namespace/name, whose CA it writes into all webhooks. */
const injection = "cert-manager.io/inject-ca-from";

/**
 * Removes the annotation with Operating System Manager's Certificate, which Helm keeps when it takes over the object.
 * An annotation with another Certificate stays, because the webhook may be about to use it.
 */
function withoutInjection(found: Found): Found {
  const { annotations = {} } = found.metadata ?? {};
  if (!annotations[injection]?.endsWith(`/${osmCertificate}`)) return found;
  const { [injection]: _, ...others } = annotations;
  return { ...found, metadata: { ...found.metadata, annotations: others } };
}

function bundleOf([found]: Webhook[]): string | undefined {
  return found?.clientConfig.caBundle;
}

/**
 * Returns the webhook that holds new machines, with all defaults of the API server, so that a comparison with the
 * existing webhook shows only real differences.
 */
function holdWebhook(endpoint: WebhookEndpoint, caBundle: string | undefined): Webhook {
  const owner = "owner.kind == 'MachineSet' && owner.apiVersion.startsWith('cluster.k8s.io/')";
  const hold = "object.metadata.?annotations['machine-controller.kubermatic.io/initializers'].orValue('') == ''";
  const known = {
    ...{
      name: "machines.cluster.k8s.io",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      matchPolicy: "Equivalent",
    },
    // The creation of machines must not depend on the webhook, which only paces them.
    ...{ failurePolicy: "Ignore", reinvocationPolicy: "Never", timeoutSeconds: 5 },
    ...{ namespaceSelector: {}, objectSelector: {} },
    rules: [{
      ...{ apiGroups: ["cluster.k8s.io"], apiVersions: ["v1alpha1"], resources: ["machines"] },
      ...{ operations: ["CREATE"], scope: "*" },
    }],
    matchConditions: [
      {
        name: "machine-is-of-a-set",
        expression: `object.metadata.?ownerReferences.orValue([]).exists(owner, ${owner})`,
      },
      { name: "nobody-else-holds-it", expression: hold },
    ],
  };
  const clientConfig = { ...endpoint.clientConfig("/mutate-v1alpha1-machine"), ...(caBundle ? { caBundle } : {}) };
  return { ...known, clientConfig } as Webhook;
}
