/** What stands published for a pool, as its annotations tell: each artefact by itself has to fit. */
import { annotationsHash, machineCluster, namesOf } from "../../profiles/mod.ts";
import type { PoolRef, Publication, PublishInput } from "../../workflows/contracts/mod.ts";
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

/** What has to be published; where `configDigest` is given, nothing else may be. */
export type PublishOrder = PublishInput;

/** The annotations of all artefacts; secrets tell of the token too. */
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

/** What tells of the life of credentials: of all artefacts, and nothing else of them, this is renewed. */
export function timesStamp({ expiresAt, renewAt }: Credentials): Record<string, string> {
  return { [expiryAnnotation]: expiresAt.toISOString(), [renewalAnnotation]: renewAt.toISOString() };
}

/** The same of secrets, with whose credentials they are. */
export function credentialsStamp(credentials: Credentials): Record<string, string> {
  return {
    ...timesStamp(credentials),
    [tokenIdAnnotation]: credentials.tokenId ?? "",
    [identityDigestAnnotation]: credentials.identityDigest,
  };
}

/** SHA-256 of the API server's address and CA, as they are told to machines. */
export function clusterDigest(facts: Parameters<typeof machineCluster>[0]): string {
  const { apiServer, caPem } = machineCluster(facts);
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

/** What holds credentials: all secrets, but the user-data that sets a machine up only where its profile says so. */
function bearing(pool: PoolRef, standing: Standing[]): Standing[] {
  const { provisioning } = namesOf(pool);
  return standing.filter(({ kind, name, found }) =>
    kind === "Secret" && (name !== provisioning || hasTokens(found?.text ?? ""))
  );
}

/** Until when what stands can be used; a renewal that stopped half way left some with earlier times, and they count. */
export function timesOf(pool: PoolRef, standing: Standing[]): Pick<Publication, "expiresAt" | "renewAt"> {
  const times = bearing(pool, standing).map(annotationsOf).map((annotations) => ({
    expiresAt: annotations[expiryAnnotation] ?? "",
    renewAt: annotations[renewalAnnotation] ?? "",
  }));
  return times.sort((a, b) => a.renewAt.localeCompare(b.renewAt))[0] ?? { expiresAt: "", renewAt: "" };
}

/** The credentials are not due yet, and nobody took away the tokens that stand there, or what they are made for. */
export async function areUsable(kube: Kube, pool: PoolRef, standing: Standing[]): Promise<boolean> {
  if (!(Date.now() < Date.parse(timesOf(pool, standing).renewAt))) return false;
  const ids = new Set(bearing(pool, standing).map((each) => annotationsOf(each)[tokenIdAnnotation] ?? ""));
  const live = await Promise.all([...ids].filter((id) => id !== "").map((id) => liveToken(kube, id)));
  return live.every((token) => token !== undefined) && await areAllTaken(kube, pool, standing);
}

/** Corrects in place what only others read, where nothing else has changed; the credentials stay. */
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
