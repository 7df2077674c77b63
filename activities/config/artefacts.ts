/**
 * Writes one artefact so that it is never missing: data and annotations change in one update, then the answer tells that they stand. What
 * is written takes the place of what was read, and of nothing else: whoever was faster has published something newer.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "../kube/cache.ts";
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { V1DeleteOptions, V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { PoolRef, Publication } from "../../workflows/contracts/mod.ts";
import { throwIfCalledOff } from "../kube/paced_http.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import {
  configs,
  createObject,
  deleteObject,
  type Metadata,
  type ObjectBody,
  patchObject,
  readObject,
  replaceObject,
} from "../kube/resources.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { claimForCluster, clusterMark } from "./identity.ts";
import { decode } from "./read_facts.ts";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { secretRevisionAnnotation } from "./names.ts";

export type Artefact = Publication["artefacts"][number];

/** What was written, in words and as it stands now. */
export interface Written {
  artefact: Artefact;
  standing: Standing;
}

/** What a secret has to hold under its only key. */
interface SecretContent {
  key: string;
  text: string;
  annotations: Record<string, string>;
}

/** Makes a secret hold exactly `text` under `key`. */
export async function writeSecret(
  kube: Kube,
  standing: Standing,
  { key, text, annotations }: SecretContent,
): Promise<Written> {
  const { name, namespace, found } = standing;
  const { labels } = found?.metadata ?? {};
  const body: V1Secret = {
    metadata: {
      name,
      namespace,
      ...(labels ? { labels } : {}),
      annotations: { ...annotationsOf(standing), ...annotations },
    },
    type: "Opaque",
    data: { [key]: Buffer.from(text).toString("base64") },
  };
  throwIfCalledOff();
  const written = await putSecret(kube, standing, body);
  return { artefact: verified(written, { name, key, text }), standing: standingSecret(written, { name, namespace }) };
}

/** Gives the secret as the API server has stored it. */
async function putSecret(kube: Kube, { name, namespace, found }: Standing, body: V1Secret): Promise<V1Secret> {
  if (!found) return await kube.core.createNamespacedSecret({ namespace, body });
  const { resourceVersion = "" } = found.metadata;
  if (!found.isImmutable) {
    const metadata = { ...body.metadata, resourceVersion };
    return await kube.core.replaceNamespacedSecret({ name, namespace, body: { ...body, metadata } });
  }
  // Operating System Manager made its secrets immutable: taking one over costs one moment without it, once.
  await ifFound(kube.core.deleteNamespacedSecret({ name, namespace, body: onlyAs(found.metadata) }));
  return await kube.core.createNamespacedSecret({ namespace, body });
}

/** Throws where something on the way to the store has changed what was written. */
function verified(
  written: V1Secret,
  { name, key, text }: { name: string; key: string; text: string },
): Artefact {
  const digest = sha256(text);
  if (sha256(decode(written.data?.[key] ?? "")) !== digest) {
    throw new Error(`Failed to verify Secret "${name}": the stored data differs from the written data`);
  }
  return { kind: "Secret", name, digest, bytes: Buffer.byteLength(text) };
}

/** Makes the OperatingSystemConfig hold exactly `spec`, which carries no credentials. */
export async function writeConfig(
  kube: Cluster,
  standing: Standing,
  { spec, digest, annotations }: { spec: object; digest: string; annotations: Record<string, string> },
): Promise<Written> {
  const { name, namespace, found } = standing;
  await claimForCluster(kube, `config "${namespace}/${name}"`, found?.annotations);
  const marked = { ...annotationsOf(standing), ...annotations, ...await clusterMark(kube) };
  const metadata = { name, namespace, annotations: marked };
  const body = { apiVersion: `${configs.group}/${configs.version}`, kind: "OperatingSystemConfig", metadata, spec };
  throwIfCalledOff();
  const written = await (found ? replaceConfig(kube, body, found.metadata) : createObject(kube, configs, body));
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  const artefact = { kind: "OperatingSystemConfig", name, digest, bytes };
  return { artefact, standing: standingConfig(written, { name, namespace }) };
}

type Version = Pick<V1ObjectMeta, "uid" | "resourceVersion">;

async function replaceConfig(kube: Kube, body: ObjectBody, version: Version): Promise<{ metadata: Metadata }> {
  const { resourceVersion } = version;
  try {
    return await replaceObject(kube, configs, { ...body, metadata: { ...body.metadata, resourceVersion } });
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    // The webhook of Operating System Manager lets nobody change a config; no machine boots from it.
    const { name, namespace } = body.metadata;
    await ifFound(deleteObject(kube, configs, { name, namespace, body: onlyAs(version) }));
    return await createObject(kube, configs, body);
  }
}

/** Writes annotations alone; the artefact has to be as it was read. */
export async function annotate(
  kube: Kube,
  { kind, name, namespace, found }: Standing,
  annotations: Record<string, string>,
): Promise<void> {
  const body = { metadata: { resourceVersion: found?.metadata.resourceVersion, annotations } };
  throwIfCalledOff();
  if (kind === "Secret") await kube.core.patchNamespacedSecret({ name, namespace, body }, asMergePatch);
  else await patchObject(kube, configs, { name, namespace, body });
}

function onlyAs({ uid, resourceVersion }: Version): V1DeleteOptions {
  return { preconditions: { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) } };
}

/** SHA-256 in lower-case hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

// What stands published for a pool, each artefact whole: what is written later takes the place of this, or of nothing.

/** One artefact as it stands. */
export interface Standing {
  kind: "OperatingSystemConfig" | "Secret";
  name: string;
  namespace: string;
  /** Missing where there is none. */
  found?: Found;
}

interface Found {
  metadata: Pick<V1ObjectMeta, "resourceVersion" | "uid" | "labels">;
  annotations: Record<string, string>;
  isImmutable: boolean;
  /** The text under a secret's first key; "" of a config. */
  text: string;
}

/** All artefacts of a pool; an edge script stands on provider edge alone. */
export interface Standings {
  config: Standing;
  provisioning: Standing;
  kubeconfig: Standing;
  edgeScript?: Standing;
  bootstrap: Standing;
}

/** In the order in which they are written. */
export function inOrder({ config, provisioning, kubeconfig, edgeScript, bootstrap }: Standings): Standing[] {
  return [config, provisioning, kubeconfig, ...(edgeScript ? [edgeScript] : []), bootstrap];
}

/** The annotations of what is there. */
export function annotationsOf({ found }: Standing): Record<string, string> {
  return found?.annotations ?? {};
}

/** Reads all but the edge script, and but what has just been read. */
export async function readStanding(
  { kube, profileNamespace }: { kube: Kube; profileNamespace: string },
  pool: PoolRef,
  read?: Standing,
): Promise<Standings> {
  const names = namesOf(pool);
  const [config, provisioning, kubeconfig, bootstrap] = await Promise.all([
    readConfig(kube, { name: names.config, namespace: profileNamespace }),
    readSecret(kube, names.provisioning),
    readSecret(kube, names.kubeletBootstrap),
    read ?? readSecret(kube, names.bootstrap),
  ]);
  return { config, provisioning, kubeconfig, bootstrap };
}

/** Reads the edge script too. */
export async function withEdgeScript(
  kube: Kube,
  names: Pick<ArtefactNames, "edgeScript">,
  standing: Standings,
): Promise<Standings> {
  return { ...standing, edgeScript: await readSecret(kube, names.edgeScript) };
}

/** The places of a pool for which nothing is published. */
export function nothingStanding(pool: PoolRef, profileNamespace: string, isEdge: boolean): Standings {
  const names = namesOf(pool);
  const secret = (name: string): Standing => ({ kind: "Secret", name, namespace: secretsNamespace });
  return {
    config: { kind: "OperatingSystemConfig", name: names.config, namespace: profileNamespace },
    ...{ provisioning: secret(names.provisioning), kubeconfig: secret(names.kubeletBootstrap) },
    ...(isEdge ? { edgeScript: secret(names.edgeScript) } : {}),
    bootstrap: secret(names.bootstrap),
  };
}

async function readConfig(kube: Kube, where: { name: string; namespace: string }): Promise<Standing> {
  const config = await ifFound(readObject(kube, configs, where));
  return config ? standingConfig(config, where) : { kind: "OperatingSystemConfig", ...where };
}

/** A config as the API server gave it. */
function standingConfig(
  { metadata: { annotations = {}, resourceVersion, uid } }: { metadata: Metadata },
  where: { name: string; namespace: string },
): Standing {
  const metadata = { uid, ...(resourceVersion ? { resourceVersion } : {}) };
  return { kind: "OperatingSystemConfig", ...where, found: { metadata, annotations, isImmutable: false, text: "" } };
}

/** A secret of pools, as it stands. */
async function readSecret(kube: Kube, name: string): Promise<Standing> {
  const where = { name, namespace: secretsNamespace };
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  return secret ? standingSecret(secret, where) : { kind: "Secret", ...where };
}

/** A secret as the API server gave it. */
function standingSecret(secret: V1Secret, where: { name: string; namespace: string }): Standing {
  return { kind: "Secret", ...where, found: foundOf(secret) };
}

function foundOf({ metadata = {}, data = {}, immutable }: V1Secret): Found {
  const text = decode(Object.values(data)[0] ?? "");
  return { metadata, annotations: metadata.annotations ?? {}, isImmutable: immutable === true, text };
}

// Where this process has left what it published last for a pool, without its text. Nothing is written but in the place of
// a known version, so what is known may be out of date: then the API server refuses it. Most often that is known before,
// as whoever publishes or renews writes the bootstrap secret last.

interface LeftStanding {
  standing: Standings;
  /** When it was left, as `performance.now()` tells. */
  at: number;
}

/** Of the pools published last; a few kilobytes each. */
const published = new Shelf<LeftStanding>(1_000);

/** Remembers it; an edge script is for those who read all. */
export function leaveStanding(kube: Cluster, { namespace, name }: PoolRef, standing: Standings): void {
  const { config, provisioning, kubeconfig, edgeScript, bootstrap } = standing;
  const all = [config, provisioning, kubeconfig, bootstrap];
  if (edgeScript || all.some(({ found }) => found?.metadata.resourceVersion === undefined)) return;
  const [one, other, third, last] = all.map(withoutText) as [Standing, Standing, Standing, Standing];
  const without = { config: one, provisioning: other, kubeconfig: third, bootstrap: last };
  kube.cache.shelf(published).set(`${namespace}/${name}`, { standing: without, at: performance.now() });
}

/** What is found in the place of what was left. */
interface FoundStanding {
  /** The bootstrap secret as it stands now, whose text holds what is used on. */
  bootstrap: Standing;
  /** All, where nobody has published since. */
  left?: LeftStanding;
}

/**
 * What this process has left there, of another revision, as all of it is going to be written; reads the bootstrap secret.
 * Taken once: whoever takes it leaves it again when all is written.
 */
export async function takeStanding(
  kube: Cluster,
  pool: PoolRef,
  revision: string,
): Promise<FoundStanding | undefined> {
  const key = `${pool.namespace}/${pool.name}`;
  const kept = kube.cache.shelf(published);
  const left = kept.get(key);
  if (!left || annotationsOf(left.standing.bootstrap)[secretRevisionAnnotation] === revision) return undefined;
  kept.delete(key);
  const bootstrap = await readSecret(kube, namesOf(pool).bootstrap);
  if (versionOf(bootstrap) !== versionOf(left.standing.bootstrap)) return { bootstrap };
  return { bootstrap, left: { ...left, standing: { ...left.standing, bootstrap } } };
}

function versionOf({ found }: Standing): string | undefined {
  return found && `${found.metadata.uid} ${found.metadata.resourceVersion}`;
}

function withoutText({ found, ...place }: Standing): Standing {
  return found ? { ...place, found: { ...found, text: "" } } : place;
}
