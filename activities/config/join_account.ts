/** A service account's token in place of a bootstrap token, where the settings ask for it. */
import { missing } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { readSecretTexts, splitName } from "./referenced_secret.ts";
import { requestToken } from "./token_request.ts";

export interface AccountToken {
  token: string;
  /** Missing for a token that lives as long as its secret. */
  expiresAt?: Date;
}

const tokenType = "kubernetes.io/service-account-token";

/**
 * The first token secret that service account `namespace/name` lists, as Operating System Manager takes it; since
 * Kubernetes stopped making those by itself, else a token of its own with a bounded life.
 */
export async function accountToken(kube: Kube, setting: string, lifeSeconds: number): Promise<AccountToken> {
  const where = splitName("the service account of bootstrap tokens", setting);
  const account = await ifFound(kube.core.readNamespacedServiceAccount(where));
  if (!account) throw missing(`Cannot let machines join: service account "${setting}" does not exist`);
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
