/**
 * Writes the artefacts of a pool: its OperatingSystemConfig, and the Secrets that its machines boot with. Data and
 * annotations of an artefact are written in one update, so that no machine finds it missing or half written; only an
 * artefact of Operating System Manager may have to be deleted and created. A write replaces only the version that was
 * read, so that an outdated write never replaces newer content.
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

/** A written artefact: its description for reports, and the object that the API server returned. */
export interface Written {
  artefact: Artefact;
  standing: Standing;
}

/** The content of a secret with a single key. */
interface SecretContent {
  key: string;
  text: string;
  annotations: Record<string, string>;
}

/** Makes a secret contain exactly `text` under `key`. */
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

/** Creates or replaces the secret; returns it as the API server has stored it. */
async function putSecret(kube: Kube, { name, namespace, found }: Standing, body: V1Secret): Promise<V1Secret> {
  if (!found) return await kube.core.createNamespacedSecret({ namespace, body });
  const { resourceVersion = "" } = found.metadata;
  if (!found.isImmutable) {
    const metadata = { ...body.metadata, resourceVersion };
    return await kube.core.replaceNamespacedSecret({ name, namespace, body: { ...body, metadata } });
  }
  // Operating System Manager made its secrets immutable. The first write of Ostler therefore deletes and creates the
  // secret, which is missing for a moment.
  await ifFound(kube.core.deleteNamespacedSecret({ name, namespace, body: onlyAs(found.metadata) }));
  return await kube.core.createNamespacedSecret({ namespace, body });
}

/** Returns the description of a written secret for reports; throws if the stored data is not `text`. */
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

/** Makes the OperatingSystemConfig contain exactly `spec`, which has no credentials. */
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
    // Operating System Manager's webhook refuses updates. A config may be missing briefly: no machine boots from it.
    const { name, namespace } = body.metadata;
    await ifFound(deleteObject(kube, configs, { name, namespace, body: onlyAs(version) }));
    return await createObject(kube, configs, body);
  }
}

/** Writes annotations alone; the API server answers 409 if the artefact was modified since it was read. */
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

/** Returns the SHA-256 in lower-case hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

// The published artefacts of a pool, as they were read. A later write replaces an artefact only if it still has the
// version (`resourceVersion`) that was read.

/** One artefact of a pool: its name, and its content if it exists. */
export interface Standing {
  kind: "OperatingSystemConfig" | "Secret";
  name: string;
  namespace: string;
  /** The artefact as read; absent if it does not exist. */
  found?: Found;
}

interface Found {
  metadata: Pick<V1ObjectMeta, "resourceVersion" | "uid" | "labels">;
  annotations: Record<string, string>;
  isImmutable: boolean;
  /** The text under a secret's first key; "" for a config. */
  text: string;
}

/** All artefacts of a pool. An edge script exists on provider edge only; `edgeScript` is absent until it is read. */
export interface Standings {
  config: Standing;
  provisioning: Standing;
  kubeconfig: Standing;
  edgeScript?: Standing;
  bootstrap: Standing;
}

/** Returns the artefacts in the order in which they are written. */
export function inOrder({ config, provisioning, kubeconfig, edgeScript, bootstrap }: Standings): Standing[] {
  return [config, provisioning, kubeconfig, ...(edgeScript ? [edgeScript] : []), bootstrap];
}

/** Returns the annotations of an artefact; empty if it does not exist. */
export function annotationsOf({ found }: Standing): Record<string, string> {
  return found?.annotations ?? {};
}

/** Reads all artefacts except the edge script; `read` is the bootstrap secret if the caller has read it already. */
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

/** Reads the edge script, and adds it to the other artefacts. */
export async function withEdgeScript(
  kube: Kube,
  names: Pick<ArtefactNames, "edgeScript">,
  standing: Standings,
): Promise<Standings> {
  return { ...standing, edgeScript: await readSecret(kube, names.edgeScript) };
}

/** Returns the artefacts of a pool for which none is published: their names without content. */
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

/** Returns the artefact for a config that the API server has returned. */
function standingConfig(
  { metadata: { annotations = {}, resourceVersion, uid } }: { metadata: Metadata },
  where: { name: string; namespace: string },
): Standing {
  const metadata = { uid, ...(resourceVersion ? { resourceVersion } : {}) };
  return { kind: "OperatingSystemConfig", ...where, found: { metadata, annotations, isImmutable: false, text: "" } };
}

/** Reads a secret of a pool; `found` is absent if it does not exist. */
async function readSecret(kube: Kube, name: string): Promise<Standing> {
  const where = { name, namespace: secretsNamespace };
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  return secret ? standingSecret(secret, where) : { kind: "Secret", ...where };
}

/** Returns the artefact for a secret that the API server has returned. */
function standingSecret(secret: V1Secret, where: { name: string; namespace: string }): Standing {
  return { kind: "Secret", ...where, found: foundOf(secret) };
}

function foundOf({ metadata = {}, data = {}, immutable }: V1Secret): Found {
  const text = decode(Object.values(data)[0] ?? "");
  return { metadata, annotations: metadata.annotations ?? {}, isImmutable: immutable === true, text };
}

// The artefacts that this process last published for a pool, without their text. A write names the remembered version,
// so the API server refuses it if another process has published since then. `takeStanding` mostly detects that earlier:
// it reads the bootstrap secret, which every publication or renewal writes last, and compares the version.

interface LeftStanding {
  standing: Standings;
  /** Time of the publication, on the clock of `performance.now()`. */
  at: number;
}

/** The artefacts of the pools that were published last; a few kilobytes for each pool. */
const published = new Shelf<LeftStanding>(1_000);

/**
 * Remembers the artefacts of a pool for its next publication. For a pool with an edge script it remembers none, so the
 * next publication reads them all.
 */
export function leaveStanding(kube: Cluster, { namespace, name }: PoolRef, standing: Standings): void {
  const { config, provisioning, kubeconfig, edgeScript, bootstrap } = standing;
  const all = [config, provisioning, kubeconfig, bootstrap];
  if (edgeScript || all.some(({ found }) => found?.metadata.resourceVersion === undefined)) return;
  const [one, other, third, last] = all.map(withoutText) as [Standing, Standing, Standing, Standing];
  const without = { config: one, provisioning: other, kubeconfig: third, bootstrap: last };
  kube.cache.shelf(published).set(`${namespace}/${name}`, { standing: without, at: performance.now() });
}

/** The result of `takeStanding`. */
interface FoundStanding {
  /** The current bootstrap secret; its text contains the published token, which the caller may publish again. */
  bootstrap: Standing;
  /** All remembered artefacts; absent if another process has published since the last publication of this process. */
  left?: LeftStanding;
}

/**
 * Returns the artefacts of a pool that this process remembers, with the bootstrap secret as it is now. Returns
 * undefined, without a read, if none are remembered, or if the remembered ones are of `revision` already. Forgets the
 * artefacts, because the caller writes all of them, and `leaveStanding` then remembers the new versions.
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
