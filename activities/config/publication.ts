/** Composes and compares the annotations of a pool's artefacts; each artefact is compared on its own. */
import { annotationsHash, machineCluster, namesOf } from "../../profiles/mod.ts";
import type { PoolRef, Publication } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { annotate, annotationsOf, sha256, type Standing } from "./artefacts.ts";
import { liveToken } from "./bootstrap_token.ts";
import { hasTokens } from "./published_tokens.ts";
import { areAllTaken, type Credentials } from "./credentials.ts";
import {
  annotationsHashAnnotation,
  clusterDigestAnnotation,
  digestAnnotation,
  expiryAnnotation,
  identityDigestAnnotation,
  ownerAnnotation,
  profileVersionAnnotation,
  renewalAnnotation,
  secretRevisionAnnotation,
  tokenIdAnnotation,
} from "./names.ts";
import { ownerOf } from "./identity.ts";
import type { RenderedPool } from "./render_config.ts";

/** The revision to publish; if `configDigest` is given, only the config with that digest may be published. */
export interface PublishOrder {
  pool: PoolRef;
  revision: string;
  configDigest?: string;
  /** Hashes (`specHashOf`) of the desired and the last good spec ("" for none), which the caller has just read. */
  seen?: { specHash: string; goodSpecHash: string };
}

/** Returns the annotations of the config and of the secrets; those of secrets also identify the credentials. */
export function stampOf(
  { pool, revision }: PublishOrder,
  rendered: RenderedPool,
  credentials: Credentials,
): { config: Record<string, string>; secret: Record<string, string> } {
  const config = {
    ...toldToOthers(rendered),
    [ownerAnnotation]: ownerOf(pool),
    [secretRevisionAnnotation]: revision,
    [digestAnnotation]: rendered.digest,
    [clusterDigestAnnotation]: clusterDigest(rendered.facts),
    ...timesStamp(credentials),
  };
  return { config, secret: { ...config, ...credentialsStamp(credentials) } };
}

/** Returns the annotations with the times of credentials, which all artefacts have. */
export function timesStamp({ expiresAt, renewAt }: Credentials): Record<string, string> {
  return { [expiryAnnotation]: expiresAt.toISOString(), [renewalAnnotation]: renewAt.toISOString() };
}

/**
 * Returns the annotations of secrets: the times of the credentials, the id of the bootstrap token, and the digest of
 * the permissions of the fetch token.
 */
export function credentialsStamp(credentials: Credentials): Record<string, string> {
  return {
    ...timesStamp(credentials),
    [tokenIdAnnotation]: credentials.tokenId ?? "",
    [identityDigestAnnotation]: credentials.identityDigest,
  };
}

/** Returns the SHA-256 of the API server's address and CA as passed to machines. */
export function clusterDigest(facts: Parameters<typeof machineCluster>[0]): string {
  const { apiServer, caPem } = machineCluster(facts);
  return sha256(JSON.stringify([apiServer, caPem]));
}

/** Returns annotations that only Operating System Manager reads: they do not affect what machines boot with. */
function toldToOthers({ deployment, profile }: RenderedPool): Record<string, string> {
  return {
    [annotationsHashAnnotation]: annotationsHash(deployment.metadata.annotations ?? {}),
    [profileVersionAnnotation]: profile.version,
  };
}

/**
 * Returns whether all artefacts exist and, by their annotations, are of this pool and revision and have the content
 * that would be written now.
 */
export function fits(
  standing: Standing[],
  { pool, revision }: PublishOrder,
  rendered: RenderedPool,
): boolean {
  return standing.map(annotationsOf).every((annotations) =>
    annotations[ownerAnnotation] === ownerOf(pool) &&
    annotations[secretRevisionAnnotation] === revision &&
    annotations[digestAnnotation] === rendered.digest &&
    annotations[clusterDigestAnnotation] === clusterDigest(rendered.facts) &&
    annotations[expiryAnnotation] !== undefined && annotations[renewalAnnotation] !== undefined
  );
}

/** Returns the artefacts with credentials: all secrets, except provisioning user-data that contains no token. */
function bearing(pool: PoolRef, standing: Standing[]): Standing[] {
  const { provisioning } = namesOf(pool);
  return standing.filter(({ kind, name, found }) =>
    kind === "Secret" && (name !== provisioning || hasTokens(found?.text ?? ""))
  );
}

/**
 * Returns when the published credentials expire, and when their renewal is due; "" if no artefact has credentials. The
 * artefact with the earliest renewal counts, because an interrupted renewal leaves previous credentials in some.
 */
export function timesOf(pool: PoolRef, standing: Standing[]): Pick<Publication, "expiresAt" | "renewAt"> {
  const times = bearing(pool, standing).map(annotationsOf).map((annotations) => ({
    expiresAt: annotations[expiryAnnotation] ?? "",
    renewAt: annotations[renewalAnnotation] ?? "",
  }));
  return times.sort((a, b) => a.renewAt.localeCompare(b.renewAt))[0] ?? { expiresAt: "", renewAt: "" };
}

/**
 * Returns whether the published credentials can be used: their renewal is not due, their bootstrap tokens have not
 * expired, and the API server accepts their service account tokens.
 */
export async function areUsable(kube: Kube, pool: PoolRef, standing: Standing[]): Promise<boolean> {
  if (!(Date.now() < Date.parse(timesOf(pool, standing).renewAt))) return false;
  const ids = new Set(bearing(pool, standing).map((each) => annotationsOf(each)[tokenIdAnnotation] ?? ""));
  const live = await Promise.all([...ids].filter((id) => id !== "").map((id) => liveToken(kube, id)));
  return live.every((token) => token !== undefined) && await areAllTaken(kube, pool, standing);
}

/** Corrects the annotations that only Operating System Manager reads; returns whether any of them had to be changed. */
export async function restamp(
  kube: Kube,
  standing: Standing[],
  rendered: RenderedPool,
): Promise<"Corrected" | "Unchanged"> {
  const wanted = toldToOthers(rendered);
  let done: "Corrected" | "Unchanged" = "Unchanged";
  for (const each of standing) {
    const annotations = annotationsOf(each);
    if (Object.entries(wanted).every(([key, value]) => annotations[key] === value)) continue;
    await annotate(kube, each, wanted);
    done = "Corrected";
  }
  return done;
}
