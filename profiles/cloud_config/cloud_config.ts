import type { RenderFacts } from "../facts.ts";
import { isPrerelease, normaliseKubeletVersion } from "../kubelet_version.ts";
import { type CloudConfigWriter, fromBase64, iniQuote } from "./cloud_config_writer.ts";
import { openstack } from "./openstack.ts";
import { ProviderValues, refused } from "./provider_values.ts";
import { goYamlScalar } from "./yaml_scalar.ts";
import { goJson } from "../go_json.ts";
import { z } from "zod";

const address = /^(?:[^@/?#]*@)?(?:\[([^\]]+)\]|([^:/?#[\]]*))(?::(\d*))?(?:[/?#].*)?$/;

/** Writes gcfg, the INI format of in-tree providers; the default folder is the VM folder of the datacenter. */
const vsphere: CloudConfigWriter = {
  fields: {
    vsphereURL: "VSPHERE_ADDRESS",
    username: "VSPHERE_USERNAME",
    password: "VSPHERE_PASSWORD",
    allowInsecure: "VSPHERE_ALLOW_INSECURE",
    datacenter: "",
    folder: "",
    datastore: "",
    datastoreCluster: "",
  },
  write(values): string {
    const match = address.exec(values.text("vsphereURL").replace(/^https?:\/\//, ""));
    if (match === null) throw refused("vsphereURL must be an https address");
    const [, ipv6, name = "", port = ""] = match;
    const datacenter = values.text("datacenter");
    const server = iniQuote(ipv6 ?? name);
    const [user, password] = [iniQuote(values.text("username")), iniQuote(values.text("password"))];
    return `[Global]
user              = ${user}
password          = ${password}
port              = ${iniQuote(port)}
insecure-flag     = ${values.flag("allowInsecure")}

[Disk]
scsicontrollertype = "pvscsi"

[Workspace]
server            = ${server}
datacenter        = ${iniQuote(datacenter)}
folder            = ${iniQuote(values.text("folder") || `/${datacenter}/vm`)}
default-datastore = ${iniQuote(values.text("datastore") || values.text("datastoreCluster"))}


[VirtualCenter ${server}]
user = ${user}
password = ${password}
port = ${port}
datacenters = ${iniQuote(datacenter)}

`;
  },
};

const Tags = z.array(z.string()).default([]);
const ServiceAccount = z.object({ project_id: z.string().default("") });

/** Writes gcfg; the project comes from the key of the service account. */
const gce: CloudConfigWriter = {
  fields: {
    serviceAccount: "GOOGLE_SERVICE_ACCOUNT",
    zone: "",
    network: "",
    subnetwork: "",
    multizone: "",
    regional: "",
  },
  write(values): string {
    const tags = Tags.safeParse(values.raw("tags"));
    if (!tags.success) throw refused("tags must be a list of strings");
    const lines = [
      "[global]",
      `project-id = ${iniQuote(projectOf(values.text("serviceAccount")))}`,
      `local-zone = ${iniQuote(values.text("zone"))}`,
      `network-name = ${iniQuote(values.text("network"))}`,
      `subnetwork-name = ${iniQuote(values.text("subnetwork"))}`,
      `multizone = ${values.flag("multizone")}`,
      `regional = ${values.flag("regional")}`,
      ...tags.data.map((tag) => `node-tags = ${iniQuote(tag)}`),
    ];
    return `${lines.join("\n")}\n`;
  },
};

function projectOf(serviceAccount: string): string {
  const account = ServiceAccount.safeParse(parseJson(fromBase64(serviceAccount) ?? ""));
  if (!account.success) throw refused("serviceAccount must be the key of a service account, in base64");
  return account.data.project_id;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes JSON with the credentials of a service principal. */
const azure: CloudConfigWriter = {
  fields: {
    tenantID: "AZURE_TENANT_ID",
    subscriptionID: "AZURE_SUBSCRIPTION_ID",
    clientID: "AZURE_CLIENT_ID",
    clientSecret: "AZURE_CLIENT_SECRET",
    resourceGroup: "",
    location: "",
    vnetName: "",
    subnetName: "",
    routeTableName: "",
    securityGroupName: "",
    vnetResourceGroup: "",
    loadBalancerSku: "",
    availabilitySet: "",
  },
  write(values): string {
    const isAssigned = values.raw("assignAvailabilitySet") ?? true;
    if (typeof isAssigned !== "boolean") throw refused("assignAvailabilitySet must be true or false");
    const availabilitySet = values.text("availabilitySet");
    return goJson({
      cloud: "AZUREPUBLICCLOUD",
      tenantId: values.text("tenantID"),
      subscriptionId: values.text("subscriptionID"),
      aadClientId: values.text("clientID"),
      aadClientSecret: values.text("clientSecret"),
      resourceGroup: values.text("resourceGroup"),
      location: values.text("location"),
      vnetName: values.text("vnetName"),
      subnetName: values.text("subnetName"),
      routeTableName: values.text("routeTableName"),
      securityGroupName: values.text("securityGroupName"),
      primaryAvailabilitySetName: isAssigned ? availabilitySet : "",
      vnetResourceGroup: values.text("vnetResourceGroup"),
      useInstanceMetadata: true,
      loadBalancerSku: values.text("loadBalancerSku"),
    });
  },
};

const kubeconfig = "auth.kubeconfig";

/** Writes YAML with the kubeconfig of the cluster that runs the machines. */
const kubevirt: CloudConfigWriter = {
  fields: { [kubeconfig]: "KUBEVIRT_KUBECONFIG" },
  variables: ["POD_NAMESPACE"],
  write(values): string {
    const scalar = (text: string): string => goYamlScalar(text, "        ");
    const namespace = values.variable("POD_NAMESPACE") || "kube-system";
    return `global:
    kubeconfig: ${scalar(kubeconfigOf(values))}
    namespace: ${scalar(namespace)}
`;
  },
};

/** Returns the kubeconfig: a value in the spec itself must be base64, a referenced value can be base64 or plain. */
function kubeconfigOf(values: ProviderValues): string {
  const literal = values.literal(kubeconfig);
  if (literal === "") {
    const text = values.text(kubeconfig);
    return fromBase64(text) ?? text;
  }
  const decoded = fromBase64(literal);
  if (decoded === undefined) throw refused(`${kubeconfig} must be a kubeconfig in base64`);
  return decoded;
}

/** Writes gcfg with zone, VPC and subnet. */
const aws: CloudConfigWriter = {
  fields: { availabilityZone: "", vpcId: "", subnetId: "" },
  write(values): string {
    const quoted = (field: string): string => iniQuote(values.text(field));
    return `[global]
Zone=${quoted("availabilityZone")}
VPC=${quoted("vpcId")}
SubnetID=${quoted("subnetId")}
`;
  },
};

const writers: Record<string, CloudConfigWriter> = { aws, azure, gce, kubevirt, openstack, vsphere };

/** Providers that never had a cloud-config. */
const without = [
  ...["alibaba", "anexia", "baremetal", "digitalocean", "edge", "hetzner", "linode", "nutanix", "opennebula"],
  ...["scaleway", "vmware-cloud-director"],
];

/** The facts that decide the cloud-config, without the values that the provider spec references. */
type CloudConfigFacts = Pick<RenderFacts, "deployment" | "provider" | "settings">;

/**
 * Returns the file that in-tree cloud providers read; `overwriteCloudConfig` of the provider config, if set, is
 * returned unchanged. Returns "" if no file is needed: with an external cloud provider, for providers without such a
 * file, and since Kubernetes 1.29, which removed in-tree providers (pre-releases of all versions still get the file).
 * Throws ProfileRefused (CloudConfigInvalid) for an invalid spec or an unsupported provider, and ProfileRefused
 * (KubeletVersionInvalid) for an invalid version. Throws ReferenceMissing if `secrets.references` lacks a value that
 * the spec references.
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

/** Returns the references to read for the cloud-config, as keys of `secrets.references`; some of them may not exist. */
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
  // A pre-release satisfies no version constraint of Operating System Manager, so it gets the config of versions before
  // 1.29.
  if (settings.externalCloudProvider || !isOld && !isPrerelease(version)) return undefined;
  const name = provider.cloudProvider;
  if (Object.hasOwn(writers, name)) return writers[name];
  if (isOld && !without.includes(name)) throw refused(`Kubernetes before 1.29 does not support provider "${name}"`);
  return undefined;
}

function isBefore129(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major < 1 || major === 1 && minor < 29;
}
