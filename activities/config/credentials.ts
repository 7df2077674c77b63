/** Credentials of booting machines: a token that reads their Secrets, and a token with which the kubelet joins. */
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
  /** Token with which a machine reads this pool's secrets and writes its boot report, and can do nothing else. */
  fetchToken: string;
  /** Token in the kubelet bootstrap kubeconfig, with which the kubelet joins. */
  joinToken: string;
  /** Id of the join token, if that is a bootstrap token. */
  tokenId?: string;
  /** SHA-256 of the permissions of the fetch token. */
  identityDigest: string;
  /** Grants the fetch token its permissions; must run before any machine can have the token. */
  grant: () => Promise<void>;
  expiresAt: Date;
  renewAt: Date;
}

interface CredentialOrder {
  pool: PoolRef;
  isEdge: boolean;
  /** `namespace/name` of a service account whose token machines join with; "" uses bootstrap tokens. */
  joinAccount: string;
  lifeSeconds: number;
  /** Whether bootstrap tokens have a group that identifies their pool: see `token_group.ts`. */
  tokensTellPool?: boolean;
  /** SHA-256 of the API server's address and CA as passed to machines; absent if not read. */
  clusterDigest?: string;
  /** The published artefacts with the credentials in use. */
  standing: Pick<Standings, "kubeconfig" | "bootstrap">;
}

/** A token with its lifetime. */
interface Token {
  token: string;
  id?: string;
  expiresAt: Date;
  renewAt: Date;
}

interface FetchToken extends Token {
  /**
   * Set if the permissions of the token were not checked, so that `Credentials.grant` has to create or correct them.
   */
  isBare?: true;
}

/**
 * Returns the two tokens of a pool: each is the published one while the API server accepts it and its renewal is not
 * due, else a new one. A replaced token stays valid until it expires, because machines may be booting with it.
 */
export async function credentialsFor(kube: Kube, order: CredentialOrder): Promise<Credentials> {
  const [toFetch, toJoin] = await sideBySide(standingFetchToken(kube, order), standingJoinToken(kube, order));
  // Before a token is requested, `ensureAccount` refuses a service account that another pool owns.
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

/** Returns the service account whose token fetches secrets, as `namespace/name`. */
export function fetchAccount(pool: PoolRef): string {
  return `${secretsNamespace}/${namesOf(pool).identity}`;
}

/** Returns whether the API server accepts the published service account tokens that machines fetch and join with. */
export async function areAllTaken(kube: Kube, pool: PoolRef, standing: Standing[]): Promise<boolean> {
  const isFetching = (token: string): boolean => accountOf(token)?.account === fetchAccount(pool);
  const tokens = standing.flatMap((each) => {
    const found = accountTokensIn(each.found?.text ?? "");
    // A kubeconfig contains only the join token; user-data may contain tokens of other accounts.
    return each.name === namesOf(pool).kubeletBootstrap ? found : found.filter(isFetching);
  });
  return await areTaken(kube, tokens);
}

/**
 * Returns the published fetch token; undefined if it cannot be used any more. If machines need permissions that differ
 * from those of the published token, they get a new token, which is published only after its permissions are granted.
 */
async function standingFetchToken(kube: Kube, order: CredentialOrder): Promise<Token | undefined> {
  const { pool, clusterDigest, standing: { bootstrap } } = order;
  const annotations = annotationsOf(bootstrap);
  if (annotations[identityDigestAnnotation] !== identityDigest(order)) return undefined;
  // A token of one API server is not valid on another.
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

/**
 * Returns a token with its times from the artefact's annotations; undefined if there is no token, if its renewal is
 * due, or if the artefact belongs to another pool.
 */
function withLife(pool: PoolRef, standing: Standing, token: string | undefined): Token | undefined {
  const annotations = annotationsOf(standing);
  const renewAt = new Date(annotations[renewalAnnotation] ?? "");
  const expiresAt = new Date(annotations[expiryAnnotation] ?? "");
  if (token === undefined || annotations[ownerAnnotation] !== ownerOf(pool)) return undefined;
  return Date.now() < renewAt.getTime() && renewAt < expiresAt ? { token, expiresAt, renewAt } : undefined;
}

interface Issue extends CredentialOrder {
  /** Whether service account, permissions and expired tokens were checked today: see `isTended`. */
  tended: boolean;
}

async function issueFetchToken(kube: Kube, { pool, lifeSeconds, tended }: Issue): Promise<FetchToken> {
  const now = new Date();
  const account = { namespace: secretsNamespace, name: namesOf(pool).identity };
  const issue = (): ReturnType<typeof requestToken> => requestToken(kube, account, lifeSeconds);
  const known = tended ? await ifFound(issue()) : undefined;
  // If the service account was deleted, it is created again; `Credentials.grant` then creates or corrects its
  // permissions.
  if (!known && tended) await ensureAccount(kube, pool, { isNew: false });
  const { token, expiresAt } = known ?? await issue();
  const renewAt = dueAt(ownerOf(pool), { issuedAt: now, expiresAt });
  return { token, expiresAt, renewAt, ...(known ? {} : { isBare: true }) };
}

/** Returns whether no artefact exists that could contain credentials. */
function isNew({ standing: { kubeconfig, bootstrap } }: CredentialOrder): boolean {
  return !kubeconfig.found && !bootstrap.found;
}

/**
 * Returns whether the pool's service account, permissions and expired tokens were checked today (UTC). The first
 * renewal of a day checks them, so they were checked if the credentials to be renewed were issued today. Returns false
 * if the published credentials are not due for renewal, or do not fit the current owner, permissions or API server.
 */
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

// The join token, if setting bootstrap-token-service-account-name names a service account: machines then join with a
// token of that account instead of a bootstrap token.

interface AccountToken {
  token: string;
  /** Absent for a token that lives as long as its secret. */
  expiresAt?: Date;
}

const tokenType = "kubernetes.io/service-account-token";

/**
 * Returns the token of the first token Secret that service account `namespace/name` lists, as Operating System Manager
 * does. Kubernetes no longer creates such Secrets; without one, requests a token with a limited lifetime.
 */
async function accountToken(kube: Kube, setting: string, lifeSeconds: number): Promise<AccountToken> {
  const where = splitName("setting bootstrap-token-service-account-name", setting);
  const account = await ifFound(kube.core.readNamespacedServiceAccount(where));
  if (!account) throw missing(`Failed to get a join token: ServiceAccount "${setting}" does not exist; create it`);
  for (const { name = "" } of account.secrets ?? []) {
    const secret = await ifAllowed(readSecretTexts(kube, { namespace: where.namespace, name }));
    const token = secret?.texts["token"];
    if (secret?.type === tokenType && token) return { token };
  }
  return await requestToken(kube, where, lifeSeconds);
}

/**
 * Returns what `read` returns; undefined if permission to read is missing. After a migration from Operating System
 * Manager, service accounts list secrets that Ostler may not read.
 */
async function ifAllowed<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    return undefined;
  }
}

// Tokens that the API server issues for a service account.

/**
 * Requests a token that is valid for `lifeSeconds`. Throws Refused if the API server grants so short a lifetime that
 * the renewal could come too late.
 */
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
    throw new Error(
      `Failed to request a token for ServiceAccount "${namespace}/${name}": the response contains no token`,
    );
  }
  const expiresAt = new Date(expirationTimestamp);
  const given = Math.round((expiresAt.getTime() - asked) / 1000);
  if (isLongEnough(given, lifeSeconds)) return { token, expiresAt };
  throw refused(
    "CredentialsMissing",
    `Failed to request a token with a lifetime of ${lifeSeconds} s for ServiceAccount "${namespace}/${name}": ` +
      `the API server grants ${given} s; set the lifetime of the credentials (credential-seconds) to at most ${given}`,
  );
}
