/** Reads the facts that decide what machines boot with: from the template, the cluster, Secrets and the environment. */
import type { Cluster } from "../cluster.ts";
import {
  type NodeSettings,
  parseProviderConfig,
  referencesOf,
  type RegistryAuth,
  type RenderFacts,
  secretsNamespace,
  withheld,
} from "../../profiles/mod.ts";
import { asObject, goField } from "../../profiles/go_json.ts";
import type { Kube } from "../kube/client.ts";
import type { MachineDeployment } from "../kube/resources.ts";
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { z } from "zod";
import { missing, refused } from "../failures.ts";
import { readAnnouncement } from "../kube/cluster_info.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { casIn } from "../status/ca_bundle.ts";
import { randomBytes } from "node:crypto";
import { tokensNamespace } from "./names.ts";

export interface FactReader {
  kube: Cluster;
  settings: NodeSettings;
  /**
   * Returns the CA, in PEM, by which this process trusts the API server; used if neither ConfigMap
   * kube-public/cluster-info nor setting kubernetes-ca-bundle has a CA.
   */
  clusterCa: () => string;
  /** Environment variables of this process, for values that a provider spec references but no object contains. */
  environment: Environment;
  /**
   * Whether machines may get values of `environment`. False by default, because the environment has credentials of this
   * process.
   */
  usesEnvironment?: boolean;
  /** Namespaces that a provider spec may reference; if empty, all that the worker may read. */
  referenceNamespaces?: readonly string[];
  /**
   * Maximum age (ms) of a reused answer that is the same for all pools, such as the address of the API server; default
   * 0.
   */
  freshMs?: number;
  /** Replaces the cluster's seed, which is otherwise read, and created if it is missing. */
  seed?: string;
}

/** Reads all facts except the machines' own credentials, which are created when they are published. */
export async function readFacts(reader: FactReader, deployment: MachineDeployment): Promise<RenderFacts> {
  const { kube, settings, clusterCa, freshMs = 0 } = reader;
  const { namespace, name, annotations = {} } = deployment.metadata;
  const spec = deployment.spec.template?.spec;
  const known = {
    deployment: {
      ...{ namespace, name, annotations, kubelet: spec?.versions?.kubelet ?? "" },
      ...(spec?.taints ? { taints: spec.taints } : {}),
    },
    provider: parseProviderConfig(spec?.providerSpec?.value, `${namespace}/${name}`),
    settings,
  };
  const [cluster, registryAuths, references, seed] = await Promise.all([
    readClusterInfo(kube, settings.kubernetesCaBundle || clusterCa(), freshMs),
    readRegistryAuths(kube, settings.nodeRegistryCredentialsSecret),
    readReferences({ ...reader, from: namespace }, referencesOf(known)),
    reader.seed ?? ensureSeed(kube),
  ]);
  return { ...known, cluster, secrets: { token: "", bootstrapKubeconfig: "", registryAuths, references, seed } };
}

// The API server's address and CA for machines: those in ConfigMap kube-public/cluster-info, else the address of an
// endpoint of Service default/kubernetes, and the CA that the caller passes.

interface ClusterInfo {
  apiServer: string;
  caPem: string;
}

/** Returns the API server's address and CA for machines, with one read for concurrent callers; see `readAddress`. */
export function readClusterInfo(kube: Cluster, caPem: string, freshMs = 0): Promise<ClusterInfo> {
  return kube.cache.read(`cluster ${caPem}`, () => readAddress(kube, caPem), { freshMs });
}

/**
 * Reads ConfigMap kube-public/cluster-info. Without a usable address there, returns that of a ready endpoint of Service
 * default/kubernetes; without a CA there, returns `caPem` as the CA.
 */
async function readAddress(kube: Kube, caPem: string): Promise<ClusterInfo> {
  const announced = await readAnnouncement(kube);
  const apiServer = announced?.server ?? await readEndpoint(kube);
  if (!apiServer) {
    throw unknown(`neither ${announcement} nor an EndpointSlice of Service "default/kubernetes" contains an address`);
  }
  const ca = announced?.caPem ?? caPem;
  if (!ca) throw unknown(`neither ${announcement} nor setting kubernetes-ca-bundle contains a CA`);
  // Administrators edit the ConfigMap by hand when they rotate the CA, and no machine joins with an unusable CA.
  if (casIn(ca).length === 0) {
    const remedy = "or setting kubernetes-ca-bundle if the ConfigMap contains no CA";
    throw unknown(`the CA is not PEM; correct ${announcement}, ${remedy}`);
  }
  return { apiServer, caPem: ca };
}

// A plain read with a time limit: without a watch, permission to list this one namespace is enough.
async function readEndpoint(kube: Kube): Promise<string | undefined> {
  const labelSelector = "kubernetes.io/service-name=kubernetes";
  const where = { namespace: "default", labelSelector, timeoutSeconds: 10 };
  const { items } = await kube.discovery.listNamespacedEndpointSlice(where);
  for (const { ports, endpoints } of items) {
    const port = ports?.find(({ name }) => name === "https")?.port;
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    const ip = ready.map(({ addresses }) => addresses[0] ?? "").find((address) => isIP(address) !== 0);
    if (port && ip) return `https://${isIP(ip) === 6 ? `[${ip}]` : ip}:${port}`;
  }
  return undefined;
}

const announcement = 'ConfigMap "kube-public/cluster-info"';

function unknown(state: string): Error {
  return refused("ObjectInvalid", `Failed to find the address and CA of the API server for machines: ${state}`);
}

// Credentials of containerd for registries, from the secret that the settings name.

const text = z.string().optional();
const Login = z.object({ username: text, password: text, auth: text, identitytoken: text })
  .transform((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
const Auths = z.record(z.string(), z.preprocess(loginIn, Login));

/** Returns the fields of a login as Go finds them: with keys in any case, and null as not set. */
function loginIn(written: unknown): unknown {
  const fields = written === null ? {} : asObject(written);
  const names = ["username", "password", "auth", "identitytoken"];
  return fields && Object.fromEntries(names.map((name) => [name, goField(fields, name)]));
}

/** Returns the logins of a Docker config, which may have none; undefined for anything else. */
function authsIn(config: unknown): unknown {
  const fields = asObject(config);
  return fields && (goField(fields, "auths") ?? {});
}

const dockerType = "kubernetes.io/dockerconfigjson";
const dockerKey = ".dockerconfigjson";

/**
 * Reads the secret `namespace/name`; without a name, returns no credentials. A Docker config secret has all registries
 * in one key, any other has one key per registry. An error never quotes the content.
 */
async function readRegistryAuths(kube: Kube, setting: string): Promise<Record<string, RegistryAuth>> {
  if (!setting) return {};
  const secret = await readSecretTexts(kube, splitName("setting node-registry-credentials-secret", setting));
  if (!secret) throw unusable(setting, "it does not exist");
  const { type, texts } = secret;
  const isDocker = type === dockerType;
  const found = isDocker
    ? authsIn(json(texts[dockerKey]))
    : Object.fromEntries(Object.entries(texts).map(([registry, value]) => [registry, json(value)]));
  const parsed = Auths.safeParse(found);
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path.map(String).join(".");
  const place = isDocker ? [dockerKey, "auths", at].filter(Boolean).join(": ") : at ?? "";
  throw unusable(setting, `"${place}" is not JSON with username, password, auth or identitytoken`);
}

function json(value: string | undefined): unknown {
  try {
    return JSON.parse(value ?? "");
  } catch {
    return undefined; // the schema error names the key
  }
}

function unusable(setting: string, state: string): Error {
  return missing(`Failed to read registry credentials from Secret "${setting}": ${state}`);
}

// The seed of the random functions of templates, and the HMAC key of config digests. It is created once per
// installation and kept, because another seed would change generated keys and digests.

// The seed is not in the namespace of the pools' Secrets: machines may still have tokens of Operating System Manager,
// which can read every Secret of that namespace.
const where = { namespace: tokensNamespace, name: "ostler-seed" };

/** Milliseconds for which the seed is kept in memory: it changes only if its secret is deleted. */
const keptMs = 600_000;

/** Returns the seed; creates it if it does not exist. */
export function ensureSeed(kube: Cluster, now = Date.now()): Promise<string> {
  return kube.cache.read("seed", () => readSeed(kube), { freshMs: keptMs, now });
}

async function readSeed(kube: Kube): Promise<string> {
  const secret = await readSecretTexts(kube, where);
  if (!secret) return await createSeed(kube);
  const { seed } = secret.texts;
  // There is no fallback: random values from an empty seed can be guessed.
  if (!seed) throw missing(`Failed to read Secret "${where.namespace}/${where.name}": key "seed" is missing or empty`);
  return seed;
}

async function createSeed(kube: Kube): Promise<string> {
  const seed = randomBytes(32).toString("base64");
  const { namespace } = where;
  try {
    await kube.core.createNamespacedSecret({
      namespace,
      body: { metadata: where, type: "Opaque", immutable: true, stringData: { seed } },
    });
    return seed;
  } catch (error) {
    // Conflict: another activity created it first.
    if (statusOf(error) === 409) return await readSeed(kube);
    throw error;
  }
}

// Values that a provider spec references.

/** The environment as the worker passes it in; only referenced names are read. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Types of secrets that a provider spec must not reference: a user who may write a MachineDeployment and read its boot
 * data would get the permissions of the secret's account.
 */
const keysOfAccounts = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];
const seed = "kube-system/ostler-seed";

/** The variable that machines may always get: the name of a namespace, which gives access to nothing. */
const harmless = "POD_NAMESPACE";

interface ReferenceReader {
  kube: Kube;
  environment: Environment;
  usesEnvironment?: boolean;
  /** Namespace of the MachineDeployment that contains the references. */
  from: string;
  /** Namespaces that may be referenced; if empty, all that the worker may read. */
  referenceNamespaces?: readonly string[];
}

/**
 * Reads `secret:namespace/name/key`, `configmap:namespace/name/key` and `env:NAME`. Absent values are left out: the
 * caller decides whether they matter, because a variable may have the value that an object lacks. For a variable that
 * is set but may not be used, the result has an empty value under the key that `withheld` returns.
 */
export async function readReferences(
  { kube, environment, usesEnvironment = false, from, referenceNamespaces = [] }: ReferenceReader,
  references: string[],
): Promise<Record<string, string>> {
  const read = new Map<string, Promise<Record<string, string>>>();
  const object = (id: string): Promise<Record<string, string>> => {
    const known = read.get(id) ?? readObjectTexts(kube, id, { from, namespaces: referenceNamespaces });
    read.set(id, known);
    return known;
  };
  const found = await Promise.all(references.map(async (reference) => {
    const [, id = "", key = ""] = /^(\w+:[^/]+\/[^/]+)\/(.+)$/.exec(reference) ?? [];
    const [, variable] = /^env:(.+)$/.exec(reference) ?? [];
    if (variable === undefined) return [reference, (await object(id))[key]] as const;
    const value = environment[variable];
    if (usesEnvironment || variable === harmless) return [reference, value] as const;
    return [withheld(variable), value ? "" : undefined] as const;
  }));
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function readObjectTexts(
  kube: Kube,
  id: string,
  { from, namespaces }: { from: string; namespaces: readonly string[] },
): Promise<Record<string, string>> {
  const [, kind, namespace = "", name = ""] = /^(secret|configmap):([^/]+)\/([^/]+)$/.exec(id) ?? [];
  if (kind === undefined) return {};
  // The namespace with boot secrets may be referenced only if it is listed, because it contains credentials of other
  // pools, and none of providers.
  const isFree = namespaces.length === 0 && namespace !== secretsNamespace;
  if (!isFree && !namespaces.includes(namespace)) {
    throw forbidden(id, `namespace "${namespace}" is not listed in provider-reference-namespaces`);
  }
  if (kind === "configmap") return (await ifFound(kube.core.readNamespacedConfigMap({ namespace, name })))?.data ?? {};
  // kube-system has the Secrets of the cluster itself, which owners of other namespaces must not get.
  if (namespace === "kube-system" && from !== namespace) {
    throw forbidden(
      id,
      `only MachineDeployments of kube-system may reference its Secrets, and this one is in "${from}"`,
    );
  }
  const secret = await readSecretTexts(kube, { namespace, name });
  if (secret && (keysOfAccounts.includes(secret.type) || `${namespace}/${name}` === seed)) {
    throw forbidden(
      id,
      "the Secret contains a Kubernetes token or Ostler's seed; reference a Secret with provider credentials",
    );
  }
  return secret?.texts ?? {};
}

function forbidden(id: string, why: string): Error {
  return refused("CredentialsMissing", `Failed to read "${id}", which the provider spec references: ${why}`);
}

// Secrets and ConfigMaps that settings and MachineDeployments reference.

/** A secret's content as text. */
interface SecretTexts {
  type: string;
  texts: Record<string, string>;
}

/** Reads a secret; undefined if it does not exist. */
export async function readSecretTexts(
  kube: Kube,
  where: { namespace: string; name: string },
): Promise<SecretTexts | undefined> {
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  if (!secret) return undefined;
  const texts = Object.entries(secret.data ?? {}).map(([key, value]) => [key, decode(value)]);
  return { type: secret.type ?? "Opaque", texts: Object.fromEntries(texts) };
}

/** Decodes one value of a secret. */
export function decode(value: string): string {
  return Buffer.from(value, "base64").toString();
}

/** Splits `namespace/name`; refuses anything else, naming its setting. */
export function splitName(setting: string, text: string): { namespace: string; name: string } {
  const [namespace, name, ...more] = text.split("/");
  if (namespace && name && more.length === 0) return { namespace, name };
  throw refused("CredentialsMissing", `Failed to read ${setting} "${text}": must be namespace/name`);
}
