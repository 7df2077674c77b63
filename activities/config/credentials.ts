/** Credentials of booting machines: a token that reads their secrets, and one with which the kubelet joins. */
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifFound, sideBySide, statusOf } from "../kube/status.ts";
import type { Kube } from "../kube/client.ts";
import { areTaken, ensureBootstrapToken, isTaken, liveToken } from "./bootstrap_token.ts";
import { accountOf, accountTokensIn, tokenOf } from "./published_tokens.ts";
import { ensureAccount, ensureRights, identityDigest, ownerOf } from "./identity.ts";
import {
  clusterDigestAnnotation,
  expiryAnnotation,
  identityDigestAnnotation,
  ownerAnnotation,
  renewalAnnotation,
  tokenIdAnnotation,
} from "./names.ts";
import { dueAt, isLongEnough } from "./renewal.ts";
import { annotationsOf, type Standing, type Standings } from "./artefacts.ts";
import { missing, refused } from "../failures.ts";
import { readSecretTexts, splitName } from "./read_facts.ts";

export interface Credentials {
  /** Reads this pool's secrets and writes its boot report, nothing else. */
  fetchToken: string;
  /** Stands in the kubeconfig. */
  joinToken: string;
  /** Names the bootstrap token, where the join token is one. */
  tokenId?: string;
  /** SHA-256 of what the fetch token may do. */
  identityDigest: string;
  /** Lets the fetch token do what machines need it for; to be done before any of them can have it. */
  grant: () => Promise<void>;
  expiresAt: Date;
  renewAt: Date;
}

interface CredentialOrder {
  pool: PoolRef;
  isEdge: boolean;
  /** `namespace/name` of a service account whose token machines join with; "" takes bootstrap tokens. */
  joinAccount: string;
  lifeSeconds: number;
  /** Bootstrap tokens tell of their pool: see `token_group.ts`. */
  tokensTellPool?: boolean;
  /** SHA-256 of the API server's address and CA, as they are told to machines; missing where nobody has looked. */
  clusterDigest?: string;
  /** Where those in use stand. */
  standing: Pick<Standings, "kubeconfig" | "bootstrap">;
}

/** A token with its life. */
interface Token {
  token: string;
  id?: string;
  expiresAt: Date;
  renewAt: Date;
}

interface FetchToken extends Token {
  /** What it may do has to be granted yet. */
  isBare?: true;
}

/**
 * The credentials that stand published, as long as they are not due; fresh ones in place of those that are. Earlier ones
 * stay valid until they expire, as machines may be booting with them.
 */
export async function credentialsFor(kube: Kube, order: CredentialOrder): Promise<Credentials> {
  const [toFetch, toJoin] = await sideBySide(standingFetchToken(kube, order), standingJoinToken(kube, order));
  // Nothing is made in a name that may be somebody else's.
  const issue = { ...order, tended: isTended(order, new Date()) };
  if (!toFetch && !issue.tended) await ensureAccount(kube, order.pool, { isNew: isNew(order) });
  const fetched: Promise<FetchToken> = toFetch ? Promise.resolve(toFetch) : issueFetchToken(kube, issue);
  const [fetching, joining] = await sideBySide(fetched, toJoin ?? issueJoinToken(kube, issue, fetched));
  return {
    ...{ fetchToken: fetching.token, joinToken: joining.token },
    ...(joining.id ? { tokenId: joining.id } : {}),
    identityDigest: identityDigest(order),
    grant: async () => {
      if (fetching.isBare) await ensureRights(kube, order);
    },
    expiresAt: earlier(fetching.expiresAt, joining.expiresAt),
    renewAt: earlier(fetching.renewAt, joining.renewAt),
  };
}

/** The service account whose token fetches secrets, as `namespace/name`. */
export function fetchAccount(pool: PoolRef): string {
  return `${secretsNamespace}/${namesOf(pool).identity}`;
}

/** The API server takes what machines fetch and join with by tokens of service accounts, as they stand published. */
export async function areAllTaken(kube: Kube, pool: PoolRef, standing: Standing[]): Promise<boolean> {
  const isFetching = (token: string): boolean => accountOf(token)?.account === fetchAccount(pool);
  const tokens = standing.flatMap((each) => {
    const found = accountTokensIn(each.found?.text ?? "");
    // A kubeconfig holds none but that which joins; user-data may hold tokens of anybody.
    return each.name === namesOf(pool).kubeletBootstrap ? found : found.filter(isFetching);
  });
  return await areTaken(kube, tokens);
}

// What machines of a new version count on has to be granted before: then the identity is written anew.
async function standingFetchToken(kube: Kube, order: CredentialOrder): Promise<Token | undefined> {
  const { pool, clusterDigest, standing: { bootstrap } } = order;
  const annotations = annotationsOf(bootstrap);
  if (annotations[identityDigestAnnotation] !== identityDigest(order)) return undefined;
  // One API server's token is not another's.
  if (clusterDigest !== undefined && annotations[clusterDigestAnnotation] !== clusterDigest) return undefined;
  return await taken(kube, withLife(pool, bootstrap, tokenOf(bootstrap.found?.text ?? "", fetchAccount(pool))));
}

async function taken(kube: Kube, token: Token | undefined): Promise<Token | undefined> {
  return token && await isTaken(kube, token.token) ? token : undefined;
}

async function standingJoinToken(kube: Kube, order: CredentialOrder): Promise<Token | undefined> {
  const { pool, joinAccount, standing: { kubeconfig } } = order;
  const id = annotationsOf(kubeconfig)[tokenIdAnnotation] ?? "";
  if (joinAccount) {
    if (id) return undefined;
    return await taken(kube, withLife(pool, kubeconfig, tokenOf(kubeconfig.found?.text ?? "", joinAccount)));
  }
  if (!id || !withLife(pool, kubeconfig, id)) return undefined;
  const token = withLife(pool, kubeconfig, await liveToken(kube, id));
  return token && { ...token, id };
}

/** Undefined for what is due, or none of ours. */
function withLife(pool: PoolRef, standing: Standing, token: string | undefined): Token | undefined {
  const annotations = annotationsOf(standing);
  const renewAt = new Date(annotations[renewalAnnotation] ?? "");
  const expiresAt = new Date(annotations[expiryAnnotation] ?? "");
  if (token === undefined || annotations[ownerAnnotation] !== ownerOf(pool)) return undefined;
  return Date.now() < renewAt.getTime() && renewAt < expiresAt ? { token, expiresAt, renewAt } : undefined;
}

interface Issue extends CredentialOrder {
  /** What belongs to the credentials was looked after today. */
  tended: boolean;
}

async function issueFetchToken(kube: Kube, { pool, lifeSeconds, tended }: Issue): Promise<FetchToken> {
  const now = new Date();
  const account = { namespace: secretsNamespace, name: namesOf(pool).identity };
  const issue = (): ReturnType<typeof requestToken> => requestToken(kube, account, lifeSeconds);
  const known = tended ? await ifFound(issue()) : undefined;
  // Where there is no such service account, all of the identity is made anew.
  if (!known && tended) await ensureAccount(kube, pool, { isNew: false });
  const { token, expiresAt } = known ?? await issue();
  const renewAt = dueAt(ownerOf(pool), { issuedAt: now, expiresAt });
  return { token, expiresAt, renewAt, ...(known ? {} : { isBare: true }) };
}

/** Nothing stands that could hold any. */
function isNew({ standing: { kubeconfig, bootstrap } }: CredentialOrder): boolean {
  return !kubeconfig.found && !bootstrap.found;
}

/** What stands is due and nothing else, and was made on the same day: once a day what belongs to it is looked after. */
function isTended(order: CredentialOrder, now: Date): boolean {
  const { pool, clusterDigest, lifeSeconds, standing: { bootstrap } } = order;
  const annotations = annotationsOf(bootstrap);
  const isDue = Date.parse(annotations[renewalAnnotation] ?? "") <= now.getTime();
  const issuedAt = Date.parse(annotations[expiryAnnotation] ?? "") - lifeSeconds * 1000;
  return isDue && dayOf(issuedAt) === dayOf(now.getTime()) &&
    annotations[ownerAnnotation] === ownerOf(pool) &&
    annotations[identityDigestAnnotation] === identityDigest(order) &&
    annotations[clusterDigestAnnotation] === (clusterDigest ?? annotations[clusterDigestAnnotation]);
}

function dayOf(ms: number): number {
  return Math.floor(ms / 86_400_000);
}

async function issueJoinToken(kube: Kube, issue: Issue, fetching: Promise<Token>): Promise<Token> {
  const { pool, joinAccount, lifeSeconds, standing: { kubeconfig } } = issue;
  const now = new Date();
  if (joinAccount) {
    const { token, expiresAt } = await accountToken(kube, joinAccount, lifeSeconds);
    return expiresAt
      ? { token, expiresAt, renewAt: dueAt(ownerOf(pool), { issuedAt: now, expiresAt }) }
      : { ...await fetching, token };
  }
  const expiresAt = new Date(now.getTime() + lifeSeconds * 1000);
  const { uid = "none", resourceVersion = "" } = kubeconfig.found?.metadata ?? {};
  const made = await ensureBootstrapToken(kube, pool, {
    ...{ expiresAt, inPlaceOf: `${uid} ${resourceVersion}` },
    tidy: !isNew(issue) && !issue.tended,
    tellsPool: issue.tokensTellPool ?? false,
  });
  return { ...made, expiresAt, renewAt: dueAt(ownerOf(pool), { issuedAt: now, expiresAt }) };
}

function earlier(one: Date, other: Date): Date {
  return other < one ? other : one;
}

// A service account's token in place of a bootstrap token, where the settings ask for it.

interface AccountToken {
  token: string;
  /** Missing for a token that lives as long as its secret. */
  expiresAt?: Date;
}

const tokenType = "kubernetes.io/service-account-token";

/**
 * The first token secret that service account `namespace/name` lists, as Operating System Manager takes it; since
 * Kubernetes stopped making those by itself, else a token of its own with a bounded life.
 */
async function accountToken(kube: Kube, setting: string, lifeSeconds: number): Promise<AccountToken> {
  const where = splitName("the service account of bootstrap tokens", setting);
  const account = await ifFound(kube.core.readNamespacedServiceAccount(where));
  if (!account) throw missing(`Failed to get a join token: ServiceAccount "${setting}" does not exist`);
  for (const { name = "" } of account.secrets ?? []) {
    const secret = await ifAllowed(readSecretTexts(kube, { namespace: where.namespace, name }));
    const token = secret?.texts["token"];
    if (secret?.type === tokenType && token) return { token };
  }
  return await requestToken(kube, where, lifeSeconds);
}

/** Whoever comes from Operating System Manager has accounts that list secrets, which nobody has let us read. */
async function ifAllowed<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    return undefined;
  }
}

// Tokens that the API server makes for a service account.

/** Asks for a token of that life; refuses one so short that its renewal could come too late. */
async function requestToken(
  kube: Kube,
  { namespace, name }: { namespace: string; name: string },
  lifeSeconds: number,
): Promise<{ token: string; expiresAt: Date }> {
  const asked = Date.now();
  const { status } = await kube.core.createNamespacedServiceAccountToken({
    ...{ name, namespace },
    body: { spec: { audiences: [], expirationSeconds: lifeSeconds } },
  });
  const { token, expirationTimestamp } = status ?? {};
  if (!token || !expirationTimestamp) {
    throw new Error(`Failed to request a token for ServiceAccount "${name}": the response has none`);
  }
  const expiresAt = new Date(expirationTimestamp);
  const given = Math.round((expiresAt.getTime() - asked) / 1000);
  if (isLongEnough(given, lifeSeconds)) return { token, expiresAt };
  throw refused(
    "CredentialsMissing",
    `Failed to request a token of ${lifeSeconds} s for ServiceAccount "${namespace}/${name}": the API server grants ${given} s; ` +
      "set the lifetime of the credentials to at most that",
  );
}
