/** Reads the surge, selector, image and kubelet version of a MachineDeployment by machine-controller's rules. */
import { refused } from "../failures.ts";
import { ifFound, requirementsOf, selectorText } from "./status.ts";
import type { MachineDeployment, MachineSpec } from "./resources.ts";
import type { Kube } from "./client.ts";

export const revisionAnnotation = "machinedeployment.clusters.k8s.io/revision";
export const templateHashLabel = "machine-template-hash";

type Amount = number | string | null | undefined;

/**
 * Returns how many machines may be added to `replicas`: a percentage is rounded up, absent means 1 (machine-controller
 * 1.66).
 */
export function surgeOf(maxSurge: Amount, replicas: number): number {
  if (typeof maxSurge !== "string") return maxSurge ?? 1;
  const amount = Number.parseFloat(maxSurge);
  return maxSurge.endsWith("%") ? Math.ceil(replicas * amount / 100) : amount;
}

/**
 * Returns how many machines of an old template machine-controller removes before a new one is Ready: a percentage of
 * `maxUnavailable` is rounded down, absent means 0, and it is at least 1 if no machine may be added (machine-controller
 * 1.66).
 */
export function unavailableOf(
  { maxSurge, maxUnavailable }: { maxSurge?: Amount; maxUnavailable?: Amount },
  replicas: number,
): number {
  const amount = Number.parseFloat(`${maxUnavailable ?? 0}`);
  const most = `${maxUnavailable}`.endsWith("%") ? Math.floor(replicas * amount / 100) : amount;
  return Math.min(replicas, most === 0 && surgeOf(maxSurge, replicas) === 0 ? 1 : most);
}

/**
 * Returns whether the MachineDeployment requires at least one label; an empty selector selects nothing
 * (machine-controller 1.66).
 */
export function hasSelector({ spec }: MachineDeployment): boolean {
  return requirementsOf(spec.selector ?? {}) > 0;
}

/**
 * Returns the selector as text. Throws Refused for an empty selector, because a list with its text would return all
 * machines of the namespace.
 */
export function labelSelectorOf(deployment: MachineDeployment): string {
  if (hasSelector(deployment)) return selectorText(deployment.spec.selector ?? {});
  const { namespace, name } = deployment.metadata;
  const state = "its selector has neither matchLabels nor matchExpressions";
  throw refused("ObjectInvalid", `Failed to find the machines of "${namespace}/${name}": ${state}`);
}

// Reads image and kubelet version out of a machine template, for every provider that has an image field.

/** Path of the image in `cloudProviderSpec`; other providers have no such field (machine-controller 1.66). */
const imagePaths: Record<string, string[]> = {
  aws: ["ami"],
  azure: ["imageID"],
  gce: ["customImage"],
  openstack: ["image"],
  vsphere: ["templateVMName"],
  "vmware-cloud-director": ["template"],
  nutanix: ["imageName"],
  kubevirt: ["virtualMachine", "template", "primaryDisk", "osImage"],
  hetzner: ["image"],
  opennebula: ["image"],
  anexia: ["templateID"],
  vultr: ["osId"],
  baremetal: ["driverSpec", "osImageUrl"],
};

/** Returns the image in a template, as its provider writes it; "" if the template names none. */
export function imageOf(spec: MachineSpec | undefined): string {
  const value = asRecord(spec?.providerSpec?.value);
  const path = imagePaths[String(value?.["cloudProvider"] ?? "")] ?? [];
  if (path.length === 0) return "";
  const found = path.reduce<unknown>((at, key) => asRecord(at)?.[key], value?.["cloudProviderSpec"]);
  return literalOf(found);
}

/** Returns the spec with another image, as a plain string; unchanged for a provider without an image field. */
export function withImage(spec: MachineSpec, image: string): MachineSpec {
  const value = asRecord(spec.providerSpec?.value);
  const path = imagePaths[String(value?.["cloudProvider"] ?? "")] ?? [];
  if (path.length === 0) return spec;
  const cloudProviderSpec = withLeaf(asRecord(value?.["cloudProviderSpec"]) ?? {}, path, image);
  return { ...spec, providerSpec: { ...spec.providerSpec, value: { ...value, cloudProviderSpec } } };
}

function withLeaf(at: Record<string, unknown>, [key = "", ...rest]: string[], leaf: string): Record<string, unknown> {
  return { ...at, [key]: rest.length === 0 ? leaf : withLeaf(asRecord(at[key]) ?? {}, rest, leaf) };
}

/** Returns the kubelet version as written in the template; "" if it names none. */
export function kubeletOf(spec: MachineSpec | undefined): string {
  return spec?.versions?.kubelet ?? "";
}

// machine-controller writes many values either as a string or as an object with the string in "value".
function literalOf(found: unknown): string {
  if (typeof found === "string") return found;
  const value = asRecord(found)?.["value"];
  return typeof value === "string" ? value : "";
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : undefined;
}

// New machines are held, which means that they cannot boot until Ostler releases them. The hold is an annotation that
// is added when they are created: by a MutatingAdmissionPolicy if the API server supports that kind, else by Ostler's
// webhook.

export const admissionGroup = { group: "admissionregistration.k8s.io", version: "v1" } as const;
/** Name of policy, binding and webhook configuration alike. */
export const holdName = "hold-new-machines.ostler.dev";

/** `nobody`: new machines boot at once, and machine-controller alone paces a rollout. */
export type NewMachinesHeldBy = "policy" | "webhook" | "nobody";

/**
 * Returns whether the MutatingAdmissionPolicy and its binding exist. Servers before Kubernetes 1.36 do not have these
 * APIs, and also answer 404.
 */
export async function isHeldByPolicy(kube: Kube): Promise<boolean> {
  // The binding is read first: if it does not exist, one request suffices.
  for (const plural of ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"]) {
    if (!await ifFound(kube.custom.getClusterCustomObject({ ...admissionGroup, plural, name: holdName }))) return false;
  }
  return true;
}

/** Returns what is configured in the cluster to hold new machines; does not check whether the webhook responds. */
export async function newMachinesHeldBy(kube: Kube): Promise<NewMachinesHeldBy> {
  if (await isHeldByPolicy(kube)) return "policy";
  const where = { ...admissionGroup, plural: "mutatingwebhookconfigurations", name: holdName };
  const found = await ifFound<unknown>(kube.custom.getClusterCustomObject(where));
  const { webhooks = [] } = (found ?? {}) as { webhooks?: unknown[] };
  return webhooks.length > 0 ? "webhook" : "nobody";
}
