/** What stands published for a pool, each artefact whole: what is written later takes the place of this, or of nothing. */
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { configs, readObject } from "../kube/resources.ts";
import type { Metadata } from "../kube/schemas.ts";
import { ifFound } from "../kube/status.ts";
import { decode } from "./referenced_secret.ts";

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
export function standingConfig(
  { metadata: { annotations = {}, resourceVersion, uid } }: { metadata: Metadata },
  where: { name: string; namespace: string },
): Standing {
  const metadata = { uid, ...(resourceVersion ? { resourceVersion } : {}) };
  return { kind: "OperatingSystemConfig", ...where, found: { metadata, annotations, isImmutable: false, text: "" } };
}

/** A secret of pools, as it stands. */
export async function readSecret(kube: Kube, name: string): Promise<Standing> {
  const where = { name, namespace: secretsNamespace };
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  return secret ? standingSecret(secret, where) : { kind: "Secret", ...where };
}

/** A secret as the API server gave it. */
export function standingSecret(secret: V1Secret, where: { name: string; namespace: string }): Standing {
  return { kind: "Secret", ...where, found: foundOf(secret) };
}

function foundOf({ metadata = {}, data = {}, immutable }: V1Secret): Found {
  const text = decode(Object.values(data)[0] ?? "");
  return { metadata, annotations: metadata.annotations ?? {}, isImmutable: immutable === true, text };
}
