/** What stands published for a pool, as its annotations tell: each artefact by itself has to fit. */
import { annotationsHash, machineCluster, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef, Publication } from "../../workflows/contracts/mod.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { configs, patchObject, readObject } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import { sha256 } from "./artefacts.ts";
import { isTokenAlive } from "./bootstrap_token.ts";
import type { Credentials } from "./credentials.ts";
import {
  annotationsHashAnnotation,
  clusterDigestAnnotation,
  digestAnnotation,
  expiryAnnotation,
  ownerAnnotation,
  profileVersionAnnotation,
  renewalAnnotation,
  secretRevisionAnnotation,
  tokenIdAnnotation,
} from "./names.ts";
import { ownerOf } from "./ownership.ts";
import type { RenderedPool } from "./render_config.ts";

/** What has to be published. */
export interface PublishOrder {
  pool: PoolRef;
  revision: string;
  configDigest: string;
}

/** One artefact as it stands; without annotations there is none. */
export interface Standing {
  kind: "OperatingSystemConfig" | "Secret";
  name: string;
  namespace: string;
  annotations: Record<string, string> | undefined;
}

/** Reads them all, in the order in which they are written. */
export async function readStanding(
  { kube, profileNamespace }: { kube: Kube; profileNamespace: string },
  pool: PoolRef,
  withScript: boolean,
): Promise<Standing[]> {
  const names = namesOf(pool);
  const where = { name: names.config, namespace: profileNamespace };
  const config = await ifFound(readObject(kube, configs, where));
  const secrets = [names.provisioning, names.kubeletBootstrap, ...(withScript ? [names.edgeScript] : [])];
  const found = [...secrets, names.bootstrap].map(async (name): Promise<Standing> => {
    const secret = await ifFound(kube.core.readNamespacedSecret({ name, namespace: secretsNamespace }));
    const annotations = secret && (secret.metadata?.annotations ?? {});
    return { kind: "Secret", name, namespace: secretsNamespace, annotations };
  });
  const annotations = config && (config.metadata.annotations ?? {});
  return [{ kind: "OperatingSystemConfig", ...where, annotations }, ...await Promise.all(found)];
}

/** The annotations of all artefacts; secrets tell of the token too. */
export function stampOf(
  { pool, revision, configDigest }: PublishOrder,
  rendered: RenderedPool,
  { expiresAt, renewAt, tokenId }: Credentials,
): { config: Record<string, string>; secret: Record<string, string> } {
  const config = {
    ...toldToOthers(rendered),
    [ownerAnnotation]: ownerOf(pool),
    [secretRevisionAnnotation]: revision,
    [digestAnnotation]: configDigest,
    [clusterDigestAnnotation]: clusterDigest(rendered),
    [expiryAnnotation]: expiresAt.toISOString(),
    [renewalAnnotation]: renewAt.toISOString(),
  };
  return { config, secret: { ...config, [tokenIdAnnotation]: tokenId ?? "" } };
}

function clusterDigest(rendered: RenderedPool): string {
  const { apiServer, caPem } = machineCluster(rendered.facts);
  return sha256(JSON.stringify([apiServer, caPem]));
}

/** What Operating System Manager writes, and nobody but it reads: it says nothing of what machines boot with. */
function toldToOthers({ deployment, profile }: RenderedPool): Record<string, string> {
  return {
    [annotationsHashAnnotation]: annotationsHash(deployment.metadata.annotations ?? {}),
    [profileVersionAnnotation]: profile.version,
  };
}

/** Each artefact is there, of this revision, and says what it would say if it were written now. */
export function fits(
  standing: Standing[],
  { pool, revision, configDigest }: PublishOrder,
  rendered: RenderedPool,
): boolean {
  return standing.every(({ annotations }) =>
    annotations?.[ownerAnnotation] === ownerOf(pool) &&
    annotations[secretRevisionAnnotation] === revision &&
    annotations[digestAnnotation] === configDigest &&
    annotations[clusterDigestAnnotation] === clusterDigest(rendered) &&
    annotations[expiryAnnotation] !== undefined && annotations[renewalAnnotation] !== undefined
  );
}

/** Until when what stands can be used; a renewal that stopped half way left some with earlier times, and they count. */
export function timesOf(standing: Standing[]): Pick<Publication, "expiresAt" | "renewAt"> {
  const times = standing.map(({ annotations }) => ({
    expiresAt: annotations?.[expiryAnnotation] ?? "",
    renewAt: annotations?.[renewalAnnotation] ?? "",
  }));
  return times.sort((a, b) => a.renewAt.localeCompare(b.renewAt))[0] ?? { expiresAt: "", renewAt: "" };
}

/** The credentials are not due yet, and nobody took away the token that the kubeconfig holds. */
export async function areUsable(kube: Kube, standing: Standing[]): Promise<boolean> {
  if (!(Date.now() < Date.parse(timesOf(standing).renewAt))) return false;
  const ids = new Set(standing.map(({ annotations }) => annotations?.[tokenIdAnnotation] ?? ""));
  const alive = await Promise.all([...ids].filter((id) => id !== "").map((id) => isTokenAlive(kube, id)));
  return alive.every(Boolean);
}

/** Corrects in place what only others read, where nothing else has changed; the credentials stay. */
export async function restamp(kube: Kube, standing: Standing[], rendered: RenderedPool): Promise<void> {
  const wanted = toldToOthers(rendered);
  for (const { kind, name, namespace, annotations } of standing) {
    if (Object.entries(wanted).every(([key, value]) => annotations?.[key] === value)) continue;
    const body = { metadata: { annotations: wanted } };
    if (kind === "Secret") await kube.core.patchNamespacedSecret({ name, namespace, body }, asMergePatch);
    else await patchObject(kube, configs, { name, namespace, body });
  }
}
