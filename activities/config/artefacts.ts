/**
 * Writes one artefact so that it is never missing: data and annotations change in one update, then the answer tells that they stand. What
 * is written takes the place of what was read, and of nothing else: whoever was faster has published something newer.
 */
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { V1DeleteOptions, V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { Publication } from "../../workflows/contracts/mod.ts";
import { throwIfCalledOff } from "../kube/cancellation.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { configs, createObject, deleteObject, patchObject, replaceObject } from "../kube/resources.ts";
import type { ObjectBody } from "../kube/resources.ts";
import type { Metadata } from "../kube/schemas.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { claimForCluster, clusterMark } from "./cluster_mark.ts";
import { decode } from "./referenced_secret.ts";
import { annotationsOf, type Standing, standingConfig, standingSecret } from "./standing.ts";

export type Artefact = Publication["artefacts"][number];

/** What was written, in words and as it stands now. */
export interface Written {
  artefact: Artefact;
  standing: Standing;
}

/** What a secret has to hold under its only key. */
export interface SecretContent {
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
    throw new Error(`Cannot verify secret "${name}": what was stored differs from what was written`);
  }
  return { kind: "Secret", name, digest, bytes: Buffer.byteLength(text) };
}

/** Makes the OperatingSystemConfig hold exactly `spec`, which carries no credentials. */
export async function writeConfig(
  kube: Kube,
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
