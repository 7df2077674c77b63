/** What Ostler put into the cluster that is of no pool: it goes when the pools are given back. */
import type { Kube } from "../kube/client.ts";
import { admissionGroup, holdName } from "../kube/hold_admission.ts";
import { sharedNamespace } from "../kube/home.ts";
import { deleteObject, profiles } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { osmWebhook, webhookConfiguration } from "./names.ts";
import { type KnownProfile, readProfiles } from "./profiles.ts";

/** One thing that goes. */
export interface Belonging {
  /** In words, such as `ConfigMap "kube-system/ostler-budget"`. */
  about: string;
  /** Before the pools are given back, so that nothing of it acts on them meanwhile. */
  isFirst: boolean;
  remove(): Promise<void>;
}

/** Reads which of them are there. */
export async function readBelongings(kube: Kube, profileNamespace: string): Promise<Belonging[]> {
  const known = [...(await readProfiles(kube)).values()];
  const found = await Promise.all([
    ...holds.map((hold) => ifThere(kube, hold)),
    ...webhooks.map((webhook) => ifThere(kube, webhook, (object) => !isOsmCalled(object))),
    ...known.filter(({ isInstalled }) => isInstalled).map((profile) => installed(kube, profile)),
    configMap(kube, { namespace: sharedNamespace(kube, profileNamespace), name: "ostler-budget" }),
    seed(kube),
  ]);
  return found.flat();
}

// The binding first: without it the policy does nothing. Last what stands in for both on older servers.
const holds = [
  { kind: "MutatingAdmissionPolicyBinding", plural: "mutatingadmissionpolicybindings", name: holdName },
  { kind: "MutatingAdmissionPolicy", plural: "mutatingadmissionpolicies", name: holdName },
  { kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", name: holdName },
];

const webhooks = [
  { kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", name: webhookConfiguration },
  { kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations", name: webhookConfiguration },
];

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

/** Whom a webhook configuration calls: names of Services, and addresses. */
export function calledBy(object: unknown): string[] {
  type Called = { clientConfig?: { service?: { name?: string }; url?: string } };
  const { webhooks = [] } = object as { webhooks?: Called[] };
  return webhooks.map(({ clientConfig }) => clientConfig?.service?.name ?? clientConfig?.url ?? "");
}

/** Whether it is Operating System Manager that it calls. */
export function isOsmCalled(object: unknown): boolean {
  return calledBy(object).some((called) => called.includes(osmWebhook));
}

// Operating System Manager puts its own in place, as it finds no version of its own.
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
