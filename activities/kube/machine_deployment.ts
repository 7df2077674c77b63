/** What MachineDeployments and their sets say by rules of their API: numbers, sizes, and which machines they select. */
import { refused } from "../failures.ts";
import { ifFound, requirementsOf, selectorText } from "./status.ts";
import type { MachineDeployment, MachineSpec } from "./resources.ts";
import type { Kube } from "./client.ts";

export const revisionAnnotation = "machinedeployment.clusters.k8s.io/revision";
export const templateHashLabel = "machine-template-hash";

/** How many machines may come beside `replicas`: a percentage is rounded up, absent means 1 (machine-controller 1.66). */
export function surgeOf(maxSurge: number | string | null | undefined, replicas: number): number {
  if (typeof maxSurge !== "string") return maxSurge ?? 1;
  const amount = Number.parseFloat(maxSurge);
  return maxSurge.endsWith("%") ? Math.ceil(replicas * amount / 100) : amount;
}

/** The MachineDeployment asks for a label at least; one that asks for none selects nothing (machine-controller 1.66). */
export function hasSelector({ spec }: MachineDeployment): boolean {
  return requirementsOf(spec.selector ?? {}) > 0;
}

/** Refuses an empty selector: it would name every machine of the namespace. */
export function labelSelectorOf(deployment: MachineDeployment): string {
  if (hasSelector(deployment)) return selectorText(deployment.spec.selector ?? {});
  const { namespace, name } = deployment.metadata;
  const state = "its selector has neither matchLabels nor matchExpressions";
  throw refused("ObjectInvalid", `Failed to find the machines of "${namespace}/${name}": ${state}`);
}

// Reads image and kubelet version out of a machine template, for every provider that has an image field.

/** Where the image stands below `cloudProviderSpec`; providers left out have no such field (machine-controller 1.66). */
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

/** The image a machine boots from, as the provider writes it; "" where the provider chooses. */
export function imageOf(spec: MachineSpec | undefined): string {
  const value = asRecord(spec?.providerSpec?.value);
  const path = imagePaths[String(value?.["cloudProvider"] ?? "")] ?? [];
  if (path.length === 0) return "";
  const found = path.reduce<unknown>((at, key) => asRecord(at)?.[key], value?.["cloudProviderSpec"]);
  return literalOf(found);
}

/** The same machine with another image, as plain text; unchanged where the provider chooses. */
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

/** The kubelet version as written in the template. */
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

// Who holds new machines from their first moment: the API server by its own policy, where it has that kind, else our webhook.

export const admissionGroup = { group: "admissionregistration.k8s.io", version: "v1" } as const;
/** Of policy, binding and webhook configuration alike. */
export const holdName = "hold-new-machines.ostler.dev";

/** `nobody`: newcomers boot unasked, and a rollout is paced by machine-controller alone. */
export type NewMachinesHeldBy = "policy" | "webhook" | "nobody";

/** Whether the policy stands and is bound; servers before Kubernetes 1.36 have no such kind, which is a 404 as well. */
export async function isHeldByPolicy(kube: Kube): Promise<boolean> {
  // On older servers one request tells.
  for (const plural of ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"]) {
    if (!await ifFound(kube.custom.getClusterCustomObject({ ...admissionGroup, plural, name: holdName }))) return false;
  }
  return true;
}

/** As it stands in the cluster, whether or not the webhook answers. */
export async function newMachinesHeldBy(kube: Kube): Promise<NewMachinesHeldBy> {
  if (await isHeldByPolicy(kube)) return "policy";
  const where = { ...admissionGroup, plural: "mutatingwebhookconfigurations", name: holdName };
  const found = await ifFound<unknown>(kube.custom.getClusterCustomObject(where));
  const { webhooks = [] } = (found ?? {}) as { webhooks?: unknown[] };
  return webhooks.length > 0 ? "webhook" : "nobody";
}
