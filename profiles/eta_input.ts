import { z } from "zod";
import { machineCluster } from "./bootstrap_kubeconfig.ts";
import { containerdConfig } from "./containerd/config_toml.ts";
import type { RenderFacts } from "./facts.ts";
import { inWords } from "./fault_words.ts";
import { KubeletSettings, parseKubeletAnnotations } from "./kubelet_settings.ts";
import { supportedKubeletVersion } from "./kubelet_version.ts";
import { namesOf, secretsNamespace } from "./names.ts";
import { osSettings as checkOsSettings, settingName } from "./os_settings.ts";
import { ipFamilies } from "./provider_config.ts";
import { faultsOf, ProfileRefused } from "./refusal.ts";

// Values end up in shell files, systemd units and TOML, so characters that could end a word or a quote are refused.
const word = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const anAddress = "must be an http(s) address, with other characters escaped, such as %24 for $";
const url = z.string().regex(/^https?:\/\/[A-Za-z0-9._~:/?#@!&*+,;=%[\]-]+$/, anAddress);
const baseUrl = url.transform((text) => text.replace(/\/+$/, ""));
const optionalText = (pattern: RegExp, message: string): z.ZodDefault<z.ZodString> =>
  z.string().refine((text) => text === "" || pattern.test(text), message).default("");
const name = z.string().regex(word, 'must consist of letters, digits, ".", "_" and "-"');
const taint = /^[A-Za-z0-9./_-]+(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/;

/**
 * The base URLs of downloads; a mirror in `baseUrl` also serves containerd, runc, CNI plugins and crictl, under
 * /containerd, /runc, /cni and /crictl, unless they have their own URL.
 */
const Binaries = z.strictObject({
  baseUrl: baseUrl.optional(),
  containerd: baseUrl.optional(),
  runc: baseUrl.optional(),
  cni: baseUrl.optional(),
  crictl: baseUrl.optional(),
  /** SHA-256 by path on a mirror, such as "runc/v1.4.3/runc.amd64"; overrides the digests that Ostler pins. */
  digests: z.record(z.string().regex(/^[A-Za-z0-9._/-]+$/), z.string().regex(/^[0-9a-f]{64}$/)),
}).transform((given) => {
  const other = (path: string, origin: string): string =>
    given.baseUrl === undefined ? `https://github.com/${origin}/releases/download` : `${given.baseUrl}/${path}`;
  return {
    baseUrl: given.baseUrl ?? "https://dl.k8s.io",
    containerd: given.containerd ?? other("containerd", "containerd/containerd"),
    runc: given.runc ?? other("runc", "opencontainers/runc"),
    cni: given.cni ?? other("cni", "containernetworking/plugins"),
    crictl: given.crictl ?? other("crictl", "kubernetes-sigs/cri-tools"),
    digests: given.digests,
  };
});

// Bundles have names and comments around their certificates; Operating System Manager accepts these too.
const pem = /-----BEGIN CERTIFICATE-----\s[\s\S]+-----END CERTIFICATE-----/;
const parameter = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

/** The data of an Eta template, named `it`. */
const EtaInput = z.strictObject({
  name,
  namespace: name,
  kubelet: z.string(),
  cluster: z.strictObject({
    apiServer: url.refine((text) => text.startsWith("https://"), "must be an https address")
      .transform((text) => text.replace(/\/+$/, "")),
    caPem: z.string().regex(pem, "must be PEM").transform(certificatesIn),
    dnsIPs: z.array(z.union([z.ipv4(), z.ipv6()])),
    domain: name,
  }),
  provider: z.strictObject({ name, external: z.boolean() }),
  operatingSystem: name,
  /** `operatingSystemSpec` of the MachineDeployment; fields that are not set are missing. */
  osSettings: z.record(z.string(), z.union([z.string(), z.boolean()])),
  containerRuntime: z.literal("containerd"),
  /** The whole text of containerd's config.toml. */
  containerdConfig: z.string(),
  /** A secret: a token that can read this pool's two secrets and write its boot report. */
  token: z.string(),
  secretName: name,
  secretNamespace: name,
  bootstrapKubeconfigSecret: name,
  /** Name of the ConfigMap in `secretNamespace` that has one key for each machine. */
  bootReport: name,
  sshKeys: z.array(z.string()),
  network: z.strictObject({
    ipFamily: z.enum(ipFamilies),
    cidr: z.union([z.literal(""), z.cidrv4(), z.cidrv6()]),
    gateway: z.union([z.literal(""), z.ipv4(), z.ipv6()]),
    dnsServers: z.array(z.union([z.ipv4(), z.ipv6()])),
  }),
  taints: z.string().refine(areTaints, "must be taints such as key=value:NoSchedule"),
  proxy: z.strictObject({
    http: optionalText(/^https?:\/\/[A-Za-z0-9._~:/@!*+,=%[\]-]+$/, anAddress),
    no: optionalText(/^[A-Za-z0-9._:/,*[\]-]+$/, "must be hosts separated by commas"),
  }),
  hostCaPem: optionalText(pem, "must be PEM").transform(certificatesIn),
  featureGates: z.record(name, z.boolean()),
  kubeletSettings: KubeletSettings,
  binaries: Binaries,
  pauseImage: optionalText(/^[A-Za-z0-9._:/@-]+$/, "must be an image reference"),
  distUpgradeOnBoot: z.boolean(),
  /** Packages of the profile and its parents. */
  packages: z.array(z.string()),
  parameters: z.record(z.string(), parameter),
});
type EtaInput = z.infer<typeof EtaInput>;

/**
 * Returns the data of Eta templates; throws ProfileRefused that names the invalid fields (RenderFailed, or
 * ProviderConfigInvalid for settings of the operating system).
 */
export function etaData(facts: RenderFacts): EtaInput {
  const parsed = EtaInput.safeParse(given(facts), { error: inWords });
  if (parsed.success) return parsed.data;
  throw new ProfileRefused(
    "RenderFailed",
    `Failed to render the profile: invalid input: ${faultsOf(parsed.error, "all fields")}`,
  );
}

function given(facts: RenderFacts): z.input<typeof EtaInput> {
  const { deployment, provider, cluster, settings, secrets } = facts;
  const names = namesOf(deployment);
  // A template compares settings with true, so the text "true" would count as false, for example in disableAutoUpdate.
  checkOsSettings(provider);
  const osSettings = osSettingsOf(provider.operatingSystemSpec);
  const { cidr = "", gateway = "", dns, ipFamily = "" } = provider.network ?? {};
  return {
    namespace: deployment.namespace,
    name: deployment.name,
    kubelet: supportedKubeletVersion(deployment.kubelet),
    cluster: {
      apiServer: machineCluster(facts).apiServer,
      caPem: settings.kubernetesCaBundle || cluster.caPem,
      dnsIPs: settings.clusterDns,
      domain: settings.clusterDomain,
    },
    provider: { name: provider.cloudProvider, external: settings.externalCloudProvider },
    operatingSystem: provider.operatingSystem,
    osSettings,
    containerRuntime: "containerd",
    containerdConfig: containerdConfig(settings, secrets.registryAuths),
    token: secrets.token,
    secretName: names.provisioning,
    secretNamespace: secretsNamespace,
    bootstrapKubeconfigSecret: names.kubeletBootstrap,
    bootReport: names.bootReport,
    sshKeys: provider.sshPublicKeys ?? [],
    network: { ipFamily: ipFamily as (typeof ipFamilies)[number], cidr, gateway, dnsServers: dns?.servers ?? [] },
    taints: taintsOf(facts),
    proxy: { http: settings.nodeHttpProxy, no: settings.nodeNoProxy },
    hostCaPem: settings.hostCaBundle,
    featureGates: settings.nodeKubeletFeatureGates,
    kubeletSettings: parseKubeletAnnotations(deployment.annotations),
    binaries: {
      ...(settings.binariesUrl ? { baseUrl: settings.binariesUrl } : {}),
      digests: settings.binariesDigests,
    },
    pauseImage: settings.pauseImage,
    distUpgradeOnBoot: osSettings["distUpgradeOnBoot"] === true,
    packages: [],
    parameters: {},
  };
}

const OsSettings = z.record(z.string(), z.union([z.string(), z.boolean()]).optional().catch(undefined)).catch({});

function osSettingsOf(spec: unknown): Record<string, string | boolean> {
  const read = Object.entries(OsSettings.parse(spec ?? {}));
  const set = read.filter((entry): entry is [string, string | boolean] => entry[1] !== undefined);
  return Object.fromEntries(set.map(([key, value]) => [settingName(key), value]));
}

/**
 * Returns the taints that a node registers with, in the form of the kubelet's flag. A taint of the template replaces a
 * taint of the settings that has the same key and effect, because the kubelet refuses two such taints.
 */
function taintsOf({ deployment: { taints = [] }, settings }: RenderFacts): string {
  const own = taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`);
  const kindOf = (text: string): string => text.replace(/=[^:]*/, "");
  const taken = new Set(own.map(kindOf));
  const initial = settings.initialTaints.split(",").filter((text) => text !== "" && !taken.has(kindOf(text)));
  return [...initial, ...own].join(",");
}

/** Returns the text from its first certificate to its last, with a newline at the end; empty if it has none. */
function certificatesIn(text: string): string {
  const [certificates] = pem.exec(text) ?? [];
  return certificates === undefined ? "" : `${certificates}\n`;
}

function areTaints(text: string): boolean {
  return text === "" || text.split(",").every((one) => taint.test(one));
}
