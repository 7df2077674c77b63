/** The cases of test/golden/osm: inputs, and the output of Operating System Manager on a live cluster. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadAllYaml, loadYaml } from "@kubernetes/client-node";
import {
  type OsConfig,
  type OsProfile,
  parseProfile,
  parseProviderConfig,
  readNodeSettings,
  type RegistryAuth,
  type RenderFacts,
} from "../../profiles/mod.ts";

const root = fileURLToPath(new URL("../golden/osm/", import.meta.url));

/** The token with which machines fetch their config, in the cluster of every case. */
export const getterToken = "getter-token-0123456789";

interface Metadata {
  name: string;
  namespace: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
}

export interface MachineDeploymentManifest {
  metadata: Metadata;
  spec: { template: { spec: { providerSpec: { value: unknown }; versions: { kubelet: string } } } };
}

export interface InputObject {
  kind: string;
  type?: string;
  metadata: Metadata;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  secrets?: { name: string }[];
}

/** One recorded case: its input and the folder with the expected output, for its first or its second input. */
export interface OsmCase {
  name: string;
  /** The profile, unparsed because some profiles are invalid; undefined if the case has none. */
  profile?: { metadata: Metadata; spec: unknown };
  deployment: MachineDeploymentManifest;
  /** Flags of the command line: a list is a flag that is repeated. */
  flags: Record<string, unknown>;
  inputs: InputObject[];
  /** Folder with the expected output. */
  expected: string;
}

/** Names of all cases. */
export function osmCaseNames(): string[] {
  return Object.keys(loadYaml<Record<string, string>>(readText("index.yaml"))).sort();
}

/** Reads a case with its first input. */
export function osmCase(name: string): OsmCase {
  const folder = `${root}${name}/`;
  const inputs = existsSync(`${folder}inputs`) ? readdirSync(`${folder}inputs`).sort() : [];
  return {
    name,
    ...(existsSync(`${folder}osp.yaml`) ? { profile: readYaml(`${name}/osp.yaml`) } : {}),
    deployment: readYaml(`${name}/md.yaml`),
    flags: readYaml(`${name}/settings.yaml`),
    inputs: inputs.map((file) => readYaml<InputObject>(`${name}/inputs/${file}`)),
    expected: `${folder}expected/`,
  };
}

/** Reads the same case with its second input; undefined if the case has only one input. */
export function secondInput(first: OsmCase): OsmCase | undefined {
  const has = (file: string): boolean => existsSync(`${root}${first.name}/${file}`);
  if (!has("expected2")) return undefined;
  return {
    ...first,
    ...(has("osp2.yaml") ? { profile: readYaml(`${first.name}/osp2.yaml`) } : {}),
    ...(has("md2.yaml") ? { deployment: readYaml(`${first.name}/md2.yaml`) } : {}),
    expected: `${root}${first.name}/expected2/`,
  };
}

/** Bytes of one expected output (bootstrap, provisioning, kubeconfig, edge-script, error.txt), undefined if missing. */
export function expectedText(of: OsmCase, file: string): string | undefined {
  return existsSync(of.expected + file) ? readFileSync(of.expected + file, "utf8") : undefined;
}

/** The file with the edge script as Ostler fixed it. */
export function correctedEdgeScriptFile(of: OsmCase): string {
  return of.expected.replace(/expected\/$/, "corrected/edge-script");
}

/** The edge script as Ostler fixed it, undefined if none is expected. */
export function correctedEdgeScript(of: OsmCase): string | undefined {
  const hasOne = expectedText(of, "edge-script") !== undefined;
  return hasOne ? readFileSync(correctedEdgeScriptFile(of), "utf8") : undefined;
}

/** The expected OperatingSystemConfig; undefined if none is expected. */
export function expectedConfig(of: OsmCase): { annotations: Record<string, string>; spec: OsConfig } | undefined {
  const path = `${of.expected}osc.yaml`;
  return existsSync(path) ? parsedOnce(path) : undefined;
}

/** The case's profile; throws as `parseProfile` does. */
export function profileOf(of: OsmCase): OsProfile {
  return parseProfile(of.profile?.spec);
}

/** Everything from which the case's config is rendered; throws ProfileRefused for an invalid provider config. */
export function factsOf(of: OsmCase): RenderFacts {
  const { metadata: { namespace, name, annotations = {} }, spec: { template } } = of.deployment;
  const { providerSpec, versions } = template.spec;
  const settings = readNodeSettings({ argv: argumentsOf(of.flags) }, readText).settings;
  const cluster = clusterOf();
  const apiServer = settings.overrideBootstrapKubeletApiserver || cluster.apiServer;
  return {
    deployment: { namespace, name, annotations, kubelet: versions.kubelet },
    provider: parseProviderConfig(providerSpec.value, `${namespace}/${name}`),
    cluster,
    settings,
    secrets: {
      token: getterToken,
      bootstrapKubeconfig: expectedText(of, "kubeconfig") ?? kubeconfigOf(of, { ...cluster, apiServer }),
      registryAuths: registryAuthsOf(of, settings.nodeRegistryCredentialsSecret),
      references: referencesIn(of),
      seed: "recorded-seed",
    },
  };
}

function argumentsOf(flags: Record<string, unknown>): string[] {
  return Object.entries(flags).flatMap(([flag, values]) => [values].flat().map((value) => `--${flag}=${value}`));
}

let known: RenderFacts["cluster"] | undefined;

function clusterOf(): RenderFacts["cluster"] {
  return known ??= readCluster();
}

function readCluster(): RenderFacts["cluster"] {
  const objects = loadAllYaml(readText("cluster/objects.yaml")) as InputObject[];
  const info = objects.find(({ metadata }) => metadata.name === "cluster-info");
  const { clusters } = loadYaml<{ clusters: { cluster: Record<string, string> }[] }>(info?.data?.["kubeconfig"] ?? "");
  const { server = "", "certificate-authority-data": ca = "" } = clusters[0]?.cluster ?? {};
  return { apiServer: server, caPem: atob(ca) };
}

function kubeconfigOf({ inputs }: OsmCase, { apiServer, caPem }: RenderFacts["cluster"]): string {
  const token = inputs.find(({ type }) => type === "bootstrap.kubernetes.io/token")?.stringData ?? {};
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${btoa(caPem)}
    server: ${apiServer}
  name: c
contexts:
- context:
    cluster: c
    user: c
  name: c
current-context: c
kind: Config
users:
- name: c
  user:
    token: ${token["token-id"]}.${token["token-secret"]}
`;
}

function registryAuthsOf({ inputs }: OsmCase, ref: string): Record<string, RegistryAuth> {
  const [namespace, name] = ref.split("/");
  const found = inputs.find(({ kind, metadata }) =>
    kind === "Secret" && metadata.namespace === namespace && metadata.name === name
  );
  if (found?.type === "kubernetes.io/dockerconfigjson") {
    return JSON.parse(found.stringData?.[".dockerconfigjson"] ?? "{}").auths;
  }
  return Object.fromEntries(Object.entries(found?.stringData ?? {}).map(([key, text]) => [key, JSON.parse(text)]));
}

function referencesIn({ inputs }: OsmCase): Record<string, string> {
  return Object.fromEntries(
    inputs.flatMap(({ kind, metadata, data, stringData }) =>
      Object.entries({ ...data, ...stringData }).map((
        [key, value],
      ) => [`${kind.toLowerCase()}:${metadata.namespace}/${metadata.name}/${key}`, value])
    ),
  );
}

function readText(path: string): string {
  return readFileSync(root + path, "utf8");
}

function readYaml<T>(path: string): T {
  return parsedOnce(root + path);
}

const parsed = new Map<string, unknown>();

/**
 * The content of a read-only file; cached, because several tests need most files, and large ones take a while to parse.
 */
function parsedOnce<T>(path: string): T {
  if (!parsed.has(path)) parsed.set(path, frozen(loadYaml(readFileSync(path, "utf8"))));
  return parsed.get(path) as T;
}

function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
