/**
 * Whether the API server still takes a token that it once made. It does not when the service account was deleted, also
 * if one of that name was made again, or when the key that signed it is trusted no more; no date on it tells that.
 */
import type { Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { accountOf } from "./published_tokens.ts";
import { splitName } from "./referenced_secret.ts";

/** Asks the API server itself; where that is not allowed, only whether the service account is still the same one. */
export async function isTaken(kube: Kube, token: string): Promise<boolean> {
  try {
    const { status } = await kube.authentication.createTokenReview({ body: { spec: { token } } });
    return status?.authenticated === true;
  } catch (error) {
    if (!isKeptFromUs(error)) throw error;
    return await isOfSameAccount(kube, token);
  }
}

/** All of them are; each is asked about once. */
export async function areTaken(kube: Kube, tokens: string[]): Promise<boolean> {
  const answers = await Promise.all([...new Set(tokens)].map((token) => isTaken(kube, token)));
  return answers.every((answer) => answer);
}

// What nobody lets us see is no reason to make new credentials at every look.
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
