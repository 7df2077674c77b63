/** Bootstrap tokens: secrets of kube-system with which a kubelet requests its certificate. */
import { accountOf } from "./published_tokens.ts";
import type { V1Secret } from "@kubernetes/client-node";
import { createHash, randomInt } from "node:crypto";
import { namesOf } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { throwIfCalledOff } from "../kube/paced_http.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { osmTokenLabel, ownerAnnotation, tokenLabel, tokensNamespace } from "./names.ts";
import { ownerOf } from "./identity.ts";
import { decode, splitName } from "./read_facts.ts";
import { groupsOf } from "./token_group.ts";

/** Number of candidate ids: some may already belong to other tokens. */
const ids = 4;
/** An existing token is extended only if it expires more than this time (ms) before the requested expiry. */
const toleranceMs = 60_000;

interface BootstrapToken {
  /** Part of the name of the token's Secret, so not confidential. */
  id: string;
  token: string;
}

/** The parameters of a bootstrap token to be created. */
interface TokenOrder {
  expiresAt: Date;
  /** UID and resource version of the Secret whose token is replaced: all attempts for this version share one token. */
  inPlaceOf: string;
  /** Whether to delete expired tokens of the pool, and remove Operating System Manager's label from live ones. */
  tidy: boolean;
  /** Whether to add a group that identifies the pool, for the approver of node certificates. */
  tellsPool: boolean;
}

/**
 * Creates a token, or returns the one that an earlier attempt has created. Other tokens of the pool stay valid until
 * they expire, because machines may be booting with them. Throws if tokens of other owners have all candidate ids.
 */
export async function ensureBootstrapToken(kube: Kube, pool: PoolRef, order: TokenOrder): Promise<BootstrapToken> {
  if (order.tidy) await tidy(kube, pool);
  for (let nth = 0; nth < ids; nth++) {
    const id = idFor(`${ownerOf(pool)} ${order.inPlaceOf} ${nth}`);
    throwIfCalledOff();
    const wanted = { id, expiresAt: order.expiresAt, tellsPool: order.tellsPool };
    const token = await create(kube, pool, wanted) ?? await takeUp(kube, pool, wanted);
    if (token) return { id, token };
  }
  const state = `all ${ids} candidate ids belong to tokens of other owners`;
  throw new Error(`Failed to create a bootstrap token for "${ownerOf(pool)}": ${state}`);
}

/** Returns the token with this id; undefined if it does not exist or has expired. */
export async function liveToken(kube: Kube, id: string): Promise<string | undefined> {
  const secret = await ifFound(kube.core.readNamespacedSecret({ namespace: tokensNamespace, name: nameOf(id) }));
  return secret && !isExpired(secret) ? tokenIn(secret) : undefined;
}

interface Wanted {
  id: string;
  expiresAt: Date;
  tellsPool: boolean;
}

/** Creates the token; returns undefined if a token with this id exists. */
async function create(kube: Kube, pool: PoolRef, { id, expiresAt, tellsPool }: Wanted): Promise<string | undefined> {
  const secret = randomText(16);
  const metadata = {
    name: nameOf(id),
    namespace: tokensNamespace,
    labels: { [tokenLabel]: namesOf(pool).key },
    annotations: { [ownerAnnotation]: ownerOf(pool) },
  };
  const stringData = {
    description: `bootstrap token for ${namesOf(pool).key}`,
    "token-id": id,
    "token-secret": secret,
    expiration: timeOf(expiresAt),
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": groupsOf(pool, { tellsPool }),
  };
  const body = { metadata, type: "bootstrap.kubernetes.io/token", stringData };
  try {
    await kube.core.createNamespacedSecret({ namespace: tokensNamespace, body });
    return `${id}.${secret}`;
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    return undefined;
  }
}

/**
 * Returns the token that an earlier attempt created but did not publish, and extends it to `expiresAt`; undefined if
 * the token was deleted or belongs to another pool.
 */
async function takeUp(kube: Kube, pool: PoolRef, { id, expiresAt }: Wanted): Promise<string | undefined> {
  const where = { namespace: tokensNamespace, name: nameOf(id) };
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  if (!secret || secret.metadata?.annotations?.[ownerAnnotation] !== ownerOf(pool)) return undefined;
  if (!(expiryOf(secret) >= expiresAt.getTime() - toleranceMs)) {
    const body = { stringData: { expiration: timeOf(expiresAt) } };
    await kube.core.patchNamespacedSecret({ ...where, body }, asMergePatch);
  }
  return tokenIn(secret);
}

/** Returns all tokens with the pool's label, by any creator. */
export async function tokensOf(kube: Kube, pool: PoolRef): Promise<V1Secret[]> {
  const found = await Promise.all([tokenLabel, osmTokenLabel].map(async (label) => {
    const labelSelector = `${label}=${namesOf(pool).key}`;
    return (await kube.core.listNamespacedSecret({ namespace: tokensNamespace, labelSelector })).items;
  }));
  return found.flat();
}

// Deletes the pool's expired tokens, and replaces Operating System Manager's label on its other tokens. Kubernetes has
// a controller that deletes expired tokens, but not every cluster runs it.
async function tidy(kube: Kube, pool: PoolRef): Promise<void> {
  for (const secret of await tokensOf(kube, pool)) {
    const { name, annotations, labels } = secret.metadata ?? {};
    if (!name || annotations?.[ownerAnnotation] !== ownerOf(pool)) continue;
    const where = { name, namespace: tokensNamespace };
    if (isExpired(secret)) await ifFound(kube.core.deleteNamespacedSecret(where));
    else if (labels?.[osmTokenLabel] !== undefined) await ifFound(relabel(kube, pool, where));
  }
}

function relabel(kube: Kube, pool: PoolRef, where: { name: string; namespace: string }): Promise<unknown> {
  const labels = { [osmTokenLabel]: null, [tokenLabel]: namesOf(pool).key };
  return kube.core.patchNamespacedSecret({ ...where, body: { metadata: { labels } } }, asMergePatch);
}

function isExpired(secret: V1Secret): boolean {
  return expiryOf(secret) <= Date.now();
}

function expiryOf({ data }: V1Secret): number {
  return Date.parse(decode(data?.["expiration"] ?? ""));
}

function tokenIn({ data }: V1Secret): string {
  return `${decode(data?.["token-id"] ?? "")}.${decode(data?.["token-secret"] ?? "")}`;
}

function timeOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

function nameOf(id: string): string {
  return `bootstrap-token-${id}`;
}

// The alphabet that the API server accepts in bootstrap tokens.
const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

// Returns the same id for the same text. An id is not secret: it is part of the name of the token's Secret.
function idFor(what: string): string {
  const bytes = createHash("sha256").update(what).digest().subarray(0, 6);
  return [...bytes].map((byte) => alphabet[byte % alphabet.length]).join("");
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

// The API server rejects a service account token if the account was deleted, even if an account of that name was
// created again, or if the key that signed the token is no longer trusted. The dates in the token show neither.

/**
 * Returns whether the API server accepts a service account token. Without permission to create a TokenReview, returns
 * whether the service account still has the UID in the token.
 */
export async function isTaken(kube: Kube, token: string): Promise<boolean> {
  try {
    const { status } = await kube.authentication.createTokenReview({ body: { spec: { token } } });
    return status?.authenticated === true;
  } catch (error) {
    if (!isKeptFromUs(error)) throw error;
    return await isOfSameAccount(kube, token);
  }
}

/** Returns whether the API server accepts all tokens; equal tokens are checked once. */
export async function areTaken(kube: Kube, tokens: string[]): Promise<boolean> {
  const answers = await Promise.all([...new Set(tokens)].map((token) => isTaken(kube, token)));
  return answers.every((answer) => answer);
}

// Without permission to read service accounts, tokens count as valid: else every check would create new credentials.
async function isOfSameAccount(kube: Kube, token: string): Promise<boolean> {
  const { account, uid } = accountOf(token) ?? { account: "", uid: "" };
  if (uid === "") return true;
  try {
    const where = splitName("the service account of a token", account);
    const standing = await ifFound(kube.core.readNamespacedServiceAccount(where));
    return standing?.metadata?.uid === uid;
  } catch (error) {
    if (!isKeptFromUs(error)) throw error;
    return true;
  }
}

function isKeptFromUs(error: unknown): boolean {
  return [403, 404].includes(statusOf(error) ?? 0);
}
