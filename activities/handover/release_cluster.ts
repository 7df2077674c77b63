/** Ostler's objects that do not belong to a pool; deleted when the pools are given back to Operating System Manager. */
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { type Kube, sharedNamespace } from "../kube/client.ts";
import { admissionGroup, holdName } from "../kube/machine_deployment.ts";
import { deleteObject, profiles } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { osmWebhook, ourAuthority, webhookConfiguration } from "./names.ts";
import { type KnownProfile, readProfiles } from "./profiles.ts";

/** One object to delete. */
export interface Belonging {
  /** Kind and name, such as `ConfigMap "kube-system/ostler-budget"`. */
  about: string;
  /** Whether the object is deleted before the pools are given back, because the object could act on pools meanwhile. */
  isFirst: boolean;
  remove(): Promise<void>;
}

/** Returns the existing objects of Ostler that do not belong to a pool. */
export async function readBelongings(kube: Kube, profileNamespace: string): Promise<Belonging[]> {
  // Profiles in other namespaces may be those of other clusters, if this is their management cluster.
  const known = [...(await readProfiles(kube)).values()].filter(({ namespace }) => namespace === profileNamespace);
  const found = await Promise.all([
    ...holds.map((hold) => ifThere(kube, hold)),
    ...webhooks.map((webhook) => ifThere(kube, webhook, (object) => callee(object) === "ours")),
    judgingThere(kube),
    ...known.filter(({ isInstalled }) => isInstalled).map((profile) => installed(kube, profile)),
    ...["ostler-budget", "ostler-control-planes"].map((name) =>
      configMap(kube, { namespace: sharedNamespace(kube, profileNamespace), name })
    ),
    seed(kube),
  ]);
  return found.flat();
}

// The binding is deleted first, because the policy has no effect without its binding. On API servers without this kind
// of policy, the webhook holds new machines instead.
const holds = [
  { kind: "MutatingAdmissionPolicyBinding", plural: "mutatingadmissionpolicybindings", name: holdName },
  { kind: "MutatingAdmissionPolicy", plural: "mutatingadmissionpolicies", name: holdName },
  { kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", name: holdName },
];

const webhooks = [
  { kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", name: webhookConfiguration },
  { kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations", name: webhookConfiguration },
];

// Returns this installation's validating webhook on the management cluster, where each installation has its own, under
// a unique name.
async function judgingThere({ management }: Kube): Promise<Belonging[]> {
  if (!management) return [];
  const { kube, namespace } = management;
  const [kind, plural] = ["ValidatingWebhookConfiguration", "validatingwebhookconfigurations"];
  return await ifThere(kube, { kind, plural, name: `${namespace}.${webhookConfiguration}` });
}

interface ClusterObject {
  kind: string;
  plural: string;
  name: string;
}

async function ifThere(
  kube: Kube,
  { kind, plural, name }: ClusterObject,
  isOurs: (object: unknown) => boolean = () => true,
): Promise<Belonging[]> {
  const where = { ...admissionGroup, plural, name };
  const object: unknown = await ifFound(kube.custom.getClusterCustomObject(where));
  if (object === undefined || !isOurs(object)) return [];
  return [removable(`${kind} "${name}"`, true, () => kube.custom.deleteClusterCustomObject(where))];
}

/** Returns the services and addresses that a webhook configuration calls. */
export function calledBy(object: unknown): string[] {
  type Called = { clientConfig?: { service?: { name?: string }; url?: string } };
  const { webhooks = [] } = object as { webhooks?: Called[] };
  return webhooks.map(({ clientConfig }) => clientConfig?.service?.name ?? clientConfig?.url ?? "");
}

/**
 * Returns the system whose webhook a configuration calls: "osm" for a service or URL that names Operating System
 * Manager, "unknown" for another URL whose CA is not the one that Ostler's webhook issues for itself, else "ours".
 */
export function callee(object: unknown): "osm" | "ours" | "unknown" {
  type Called = { clientConfig?: { url?: string; caBundle?: string } };
  const { webhooks = [] } = object as { webhooks?: Called[] };
  if (calledBy(object).some((called) => called.includes(osmWebhook))) return "osm";
  const isSure = webhooks.every(({ clientConfig: { url, caBundle } = {} }) => url === undefined || isOurs(caBundle));
  return isSure ? "ours" : "unknown";
}

function isOurs(caBundle: string | undefined): boolean {
  try {
    const { subject } = new X509Certificate(Buffer.from(caBundle ?? "", "base64"));
    return subject.split("\n").includes(`CN=${ourAuthority}`);
  } catch {
    return false; // absent, or not a certificate
  }
}

// Returns a profile that Ostler installed. Once it is deleted, Operating System Manager creates its own default profile
// of that name, if it has one.
function installed(kube: Kube, { namespace, name }: KnownProfile): Promise<Belonging[]> {
  const about = `OperatingSystemProfile "${namespace}/${name}"`;
  return Promise.resolve([removable(about, true, () => deleteObject(kube, profiles, { namespace, name }))]);
}

async function configMap(kube: Kube, where: { namespace: string; name: string }): Promise<Belonging[]> {
  if (!await ifFound(kube.core.readNamespacedConfigMap(where))) return [];
  const about = `ConfigMap "${where.namespace}/${where.name}"`;
  return [removable(about, false, () => kube.core.deleteNamespacedConfigMap(where))];
}

async function seed(kube: Kube): Promise<Belonging[]> {
  const where = { namespace: "kube-system", name: "ostler-seed" };
  if (!await ifFound(kube.core.readNamespacedSecret(where))) return [];
  return [removable(`Secret "kube-system/ostler-seed"`, false, () => kube.core.deleteNamespacedSecret(where))];
}

function removable(about: string, isFirst: boolean, remove: () => Promise<unknown>): Belonging {
  return {
    ...{ about, isFirst },
    remove: () => attempting(`remove ${about}`, async () => void await ifFound(remove())),
  };
}
