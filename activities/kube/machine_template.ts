/** Reads image and kubelet version out of a machine template, for every provider that has an image field. */
import type { MachineSpec } from "./schemas.ts";

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
