/** Writes one artefact so that it is never missing: data and annotations change in one update, then are read back. */
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef, Publication } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { configs, createObject, deleteObject, readObject, replaceObject } from "../kube/resources.ts";
import type { ObjectBody } from "../kube/resources.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { claim } from "./ownership.ts";
import { decode } from "./referenced_secret.ts";

export interface Stamp {
  pool: PoolRef;
  annotations: Record<string, string>;
}

export type Artefact = Publication["artefacts"][number];

/** Makes a secret hold exactly `text` under `key`. */
export async function ensureSecret(
  kube: Kube,
  { pool, annotations }: Stamp,
  { name, key, text }: { name: string; key: string; text: string },
): Promise<Artefact> {
  const namespace = secretsNamespace;
  const existing = await ifFound(kube.core.readNamespacedSecret({ name, namespace }));
  if (existing) claim(pool, `secret "${name}"`, existing.metadata?.annotations);
  const body: V1Secret = {
    metadata: {
      ...{ name, namespace, ...(existing?.metadata?.labels ? { labels: existing.metadata.labels } : {}) },
      annotations: { ...existing?.metadata?.annotations, ...annotations },
    },
    type: "Opaque",
    data: { [key]: Buffer.from(text).toString("base64") },
  };
  await writeSecret(kube, name, { existing, body });
  return await verify(kube, { name, key, text });
}

async function writeSecret(
  kube: Kube,
  name: string,
  { existing, body }: { existing: V1Secret | undefined; body: V1Secret },
): Promise<void> {
  const namespace = secretsNamespace;
  if (!existing) return void await kube.core.createNamespacedSecret({ namespace, body });
  if (existing.immutable) {
    // Operating System Manager made its secrets immutable: taking one over costs one moment without it, once.
    await ifFound(kube.core.deleteNamespacedSecret({ name, namespace }));
    return void await kube.core.createNamespacedSecret({ namespace, body });
  }
  const resourceVersion = existing.metadata?.resourceVersion;
  const metadata = { ...body.metadata, ...(resourceVersion ? { resourceVersion } : {}) };
  await kube.core.replaceNamespacedSecret({ name, namespace, body: { ...body, metadata } });
}

async function verify(
  kube: Kube,
  { name, key, text }: { name: string; key: string; text: string },
): Promise<Artefact> {
  const written = await kube.core.readNamespacedSecret({ name, namespace: secretsNamespace });
  const digest = sha256(text);
  if (sha256(decode(written.data?.[key] ?? "")) !== digest) {
    throw new Error(`Cannot verify secret "${name}": what was read back differs from what was written`);
  }
  return { kind: "Secret", name, digest, bytes: Buffer.byteLength(text) };
}

/** Makes the OperatingSystemConfig hold exactly `spec`, which carries no credentials. */
export async function ensureConfig(
  kube: Kube,
  { pool, annotations }: Stamp,
  { name, namespace, spec, digest }: { name: string; namespace: string; spec: object; digest: string },
): Promise<Artefact> {
  const existing = await ifFound(readObject(kube, configs, { name, namespace }));
  if (existing) claim(pool, `config "${name}"`, existing.metadata.annotations);
  const { resourceVersion, annotations: others } = existing?.metadata ?? {};
  const metadata = { name, namespace, annotations: { ...others, ...annotations } };
  const body = { apiVersion: `${configs.group}/${configs.version}`, kind: "OperatingSystemConfig", metadata, spec };
  if (existing) await replaceConfig(kube, body, resourceVersion);
  else await createObject(kube, configs, body);
  return { kind: "OperatingSystemConfig", name, digest, bytes: Buffer.byteLength(JSON.stringify(spec)) };
}

async function replaceConfig(kube: Kube, body: ObjectBody, resourceVersion: string | undefined): Promise<void> {
  try {
    await replaceObject(kube, configs, { ...body, metadata: { ...body.metadata, resourceVersion } });
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    // The webhook of Operating System Manager lets nobody change a config; no machine boots from it.
    await ifFound(deleteObject(kube, configs, body.metadata));
    await createObject(kube, configs, body);
  }
}

/** SHA-256 in lower-case hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
