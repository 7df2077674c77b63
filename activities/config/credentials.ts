/** Credentials of booting machines: a token that reads their secrets, and one with which the kubelet joins. */
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { type BootstrapToken, createBootstrapToken } from "./bootstrap_token.ts";
import { ensureIdentity } from "./identity.ts";
import { accountToken } from "./join_account.ts";
import { ownerOf } from "./ownership.ts";
import { dueAt } from "./renewal.ts";
import { requestToken } from "./token_request.ts";

export interface Credentials {
  /** Reads this pool's secrets and writes its boot report, nothing else. */
  fetchToken: string;
  /** Stands in the kubeconfig. */
  joinToken: string;
  /** Names the bootstrap token, where the join token is one. */
  tokenId?: string;
  expiresAt: Date;
  renewAt: Date;
}

export interface CredentialOrder {
  pool: PoolRef;
  isEdge: boolean;
  /** `namespace/name` of a service account whose token machines join with; "" takes bootstrap tokens. */
  joinAccount: string;
  lifeSeconds: number;
}

/** Makes fresh credentials; earlier ones stay valid until they expire, as machines may be booting with them. */
export async function issueCredentials(kube: Kube, order: CredentialOrder): Promise<Credentials> {
  const { pool, isEdge, joinAccount, lifeSeconds } = order;
  const now = new Date();
  await ensureIdentity(kube, { pool, isEdge });
  const account = { namespace: secretsNamespace, name: namesOf(pool).identity };
  const fetching = await requestToken(kube, account, lifeSeconds);
  const joining: Partial<BootstrapToken> & { token: string; expiresAt?: Date } = joinAccount
    ? await accountToken(kube, joinAccount, lifeSeconds)
    : await createBootstrapToken(kube, pool, fetching.expiresAt);
  const expiresAt = earlier(fetching.expiresAt, joining.expiresAt);
  return {
    ...{ fetchToken: fetching.token, joinToken: joining.token },
    ...(joining.id ? { tokenId: joining.id } : {}),
    ...{ expiresAt, renewAt: dueAt(ownerOf(pool), { issuedAt: now, expiresAt }) },
  };
}

function earlier(one: Date, other: Date | undefined): Date {
  return other && other < one ? other : one;
}
