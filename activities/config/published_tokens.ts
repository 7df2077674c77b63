/**
 * The tokens in a published text: those of a service account by whom they name, a bootstrap token by its id. They are
 * made of letters, digits, dots and dashes, which user-data holds as they are, or with all of their file in base64.
 */
import { Buffer } from "node:buffer";

/** Whose tokens stand in a text. */
export interface TokenOwners {
  /** Service accounts as `namespace/name`. */
  accounts: string[];
  /** Ids of bootstrap tokens. */
  ids: string[];
}

const accountTokens = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;
const encodedFiles = /[A-Za-z0-9+/]{32,}={0,2}/g;
/** How often a file may be encoded. */
const layers = 3;

/** Whose a token says it is. */
export interface TokenAccount {
  /** Service account as `namespace/name`. */
  account: string;
  /** UID of that service account; "" where the token does not tell. */
  uid: string;
}

/** The first token of service account `namespace/name` in a text. */
export function tokenOf(text: string, account: string): string | undefined {
  return accountTokensIn(text).find((token) => accountOf(token)?.account === account);
}

/** All tokens of service accounts in a text, whoever's they are. */
export function accountTokensIn(text: string): string[] {
  const found: string[] = [];
  exchange(text, (token) => {
    if (accountOf(token)) found.push(token);
    return token;
  });
  return found;
}

/** Whether a text holds any token, whoever's. */
export function hasTokens(text: string): boolean {
  let found = false;
  exchange(text, (token) => {
    found = true;
    return token;
  });
  return found;
}

/** The text with `token` in place of each of theirs, and how many those were. */
export function withToken(
  text: string,
  { accounts, ids }: TokenOwners,
  token: string,
): { text: string; exchanged: number } {
  let exchanged = 0;
  const exchangeOne = (found: string): string => {
    const isTheirs = accounts.includes(accountOf(found)?.account ?? "") || ids.includes(found.split(".")[0] ?? "");
    if (isTheirs) exchanged += 1;
    return isTheirs ? token : found;
  };
  return { text: exchange(text, exchangeOne), exchanged };
}

// Before a token may stand what a URL writes for a character, such as %20.
const bootstrapTokens = /(?<=^|[^A-Za-z0-9.]|%[0-9A-F]{2})[a-z0-9]{6}\.[a-z0-9]{16}(?![A-Za-z0-9])/g;

function exchange(text: string, by: (token: string) => string, layer = 0): string {
  const plain = text.replaceAll(accountTokens, by).replaceAll(bootstrapTokens, by);
  if (layer === layers) return plain;
  return plain.replaceAll(encodedFiles, (encoded) => {
    // Byte for byte, whatever the bytes are.
    const decoded = Buffer.from(encoded, "base64").toString("latin1");
    const changed = exchange(decoded, by, layer + 1);
    return changed === decoded ? encoded : Buffer.from(changed, "latin1").toString("base64");
  });
}

/** The service account that a token names; undefined for one of anybody else. */
export function accountOf(token: string): TokenAccount | undefined {
  const { sub, ...claims } = claimsOf(token);
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(sub)) ?? [];
  if (!namespace || !name) return undefined;
  const bound = claims["kubernetes.io"] as { serviceaccount?: { uid?: unknown } } | undefined;
  return { account: `${namespace}/${name}`, uid: String(bound?.serviceaccount?.uid ?? "") };
}

function claimsOf(token: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? claims as Record<string, unknown> : {};
  } catch {
    return {}; // it looks like a token and is none
  }
}
