/**
 * Finds the tokens in a published text: service account tokens by their account, bootstrap tokens by their id.
 * User-data contains a token either verbatim, because its characters need no escape, or within a file encoded in
 * base64.
 */
import { Buffer } from "node:buffer";

/** Owners of the tokens in a text. */
interface TokenOwners {
  /** Service accounts as `namespace/name`. */
  accounts: string[];
  /** Ids of bootstrap tokens. */
  ids: string[];
}

const encodedFiles = /[A-Za-z0-9+/]{32,}={0,2}/g;
/** Maximum number of base64 layers around a file. */
const layers = 3;

/** The account that a token claims. */
interface TokenAccount {
  /** Service account as `namespace/name`. */
  account: string;
  /** UID of that service account; "" if the token has none. */
  uid: string;
}

/** Returns the first token of service account `namespace/name` in a text. */
export function tokenOf(text: string, account: string): string | undefined {
  return accountTokensIn(text).find((token) => accountOf(token)?.account === account);
}

/** Returns all service account tokens in a text, of any account. */
export function accountTokensIn(text: string): string[] {
  const found: string[] = [];
  exchange(text, (token) => {
    if (accountOf(token)) found.push(token);
    return token;
  });
  return found;
}

/** Returns whether a text contains any token. */
export function hasTokens(text: string): boolean {
  let found = false;
  exchange(text, (token) => {
    found = true;
    return token;
  });
  return found;
}

/** Returns the text with `token` in place of each token of these owners, and the number of replacements. */
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

const words = /[\w.-]+/g;

// Replaces each token of a service account. The text is divided without a search for whole tokens, because a regular
// expression for a token would read a long word again from each "eyJ" in it, and the user chooses parts of the text.
function exchangeAccountTokens(text: string, by: (token: string) => string): string {
  return text.replaceAll(words, (word) => word.includes("eyJ") ? exchangeInWord(word.split("."), by) : word);
}

function exchangeInWord(parts: readonly string[], by: (token: string) => string): string {
  const done: string[] = [];
  for (let nth = 0; nth < parts.length;) {
    const [first = "", payload = "", signature = ""] = parts.slice(nth, nth + 3);
    const start = first.indexOf("eyJ");
    const isToken = start >= 0 && start + 3 < first.length && payload !== "" && signature !== "";
    done.push(isToken ? first.slice(0, start) + by(`${first.slice(start)}.${payload}.${signature}`) : first);
    nth += isToken ? 3 : 1;
  }
  return done.join(".");
}

// A token may be preceded by an encoded character of a URL, such as %20.
const bootstrapTokens = /(?<=^|[^A-Za-z0-9.]|%[0-9A-F]{2})[a-z0-9]{6}\.[a-z0-9]{16}(?![A-Za-z0-9])/g;

function exchange(text: string, by: (token: string) => string, layer = 0): string {
  const plain = exchangeAccountTokens(text, by).replaceAll(bootstrapTokens, by);
  if (layer === layers) return plain;
  return plain.replaceAll(encodedFiles, (encoded) => {
    // Latin-1 preserves every byte, whatever the encoding of the file is.
    const decoded = Buffer.from(encoded, "base64").toString("latin1");
    const changed = exchange(decoded, by, layer + 1);
    return changed === decoded ? encoded : Buffer.from(changed, "latin1").toString("base64");
  });
}

/** Returns the service account of a token; undefined for a token of any other kind. */
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
    return {}; // looks like a token, but is not one
  }
}
