import type { RenderFacts } from "../facts.ts";
import { isPrerelease, normaliseKubeletVersion } from "../kubelet_version.ts";
import { aws } from "./aws.ts";
import { azure } from "./azure.ts";
import type { CloudConfigWriter } from "./cloud_config_writer.ts";
import { gce } from "./gce.ts";
import { kubevirt } from "./kubevirt.ts";
import { openstack } from "./openstack.ts";
import { ProviderValues, refused } from "./provider_values.ts";
import { vsphere } from "./vsphere.ts";

const writers: Record<string, CloudConfigWriter> = { aws, azure, gce, kubevirt, openstack, vsphere };

/** Providers that have machines but never had a cloud-config. */
const without = [
  ...["alibaba", "anexia", "baremetal", "digitalocean", "edge", "hetzner", "linode", "nutanix", "opennebula"],
  ...["scaleway", "vmware-cloud-director"],
];

/** Facts that decide the cloud-config, before what the provider spec points at is read. */
export type CloudConfigFacts = Pick<RenderFacts, "deployment" | "provider" | "settings">;

/**
 * The file that in-tree cloud providers read, until Kubernetes 1.29 took them out; empty where none does.
 * Throws ProfileRefused: CloudConfigInvalid for a spec or a provider that gives none, KubeletVersionInvalid; throws
 * another error when something that the spec points at is missing from the references.
 */
export function cloudConfig(facts: CloudConfigFacts & Pick<RenderFacts, "secrets">): string {
  const { provider, deployment, secrets } = facts;
  const version = normaliseKubeletVersion(deployment.kubelet);
  if (typeof provider.overwriteCloudConfig === "string") return provider.overwriteCloudConfig;
  const writer = writerOf(facts);
  if (writer === undefined) return "";
  return writer.write(
    new ProviderValues(provider.cloudProviderSpec, writer.fields, secrets.references),
    isPrerelease(version),
  );
}

/** What must be read for the cloud-config: keys of `secrets.references`; some of it may not be there. */
export function referencesOf(facts: CloudConfigFacts): string[] {
  if (typeof facts.provider.overwriteCloudConfig === "string") return [];
  const writer = writerOf(facts);
  if (writer === undefined) return [];
  const values = new ProviderValues(facts.provider.cloudProviderSpec, writer.fields, {});
  return [...values.references(), ...(writer.variables ?? []).map((name) => `env:${name}`)];
}

function writerOf({ provider, deployment, settings }: CloudConfigFacts): CloudConfigWriter | undefined {
  const version = normaliseKubeletVersion(deployment.kubelet);
  const isOld = isBefore129(version);
  // A pre-release satisfies no version constraint of Operating System Manager, and so gets what older ones get.
  if (settings.externalCloudProvider || !isOld && !isPrerelease(version)) return undefined;
  const name = provider.cloudProvider;
  if (Object.hasOwn(writers, name)) return writers[name];
  if (isOld && !without.includes(name)) throw refused(`Kubernetes before 1.29 does not know provider "${name}"`);
  return undefined;
}

function isBefore129(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major < 1 || major === 1 && minor < 29;
}
