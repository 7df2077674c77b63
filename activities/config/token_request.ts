/** Tokens that the API server makes for a service account. */
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { isLongEnough } from "./renewal.ts";

/** Asks for a token of that life; refuses one so short that its renewal could come too late. */
export async function requestToken(
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
  if (!token || !expirationTimestamp) throw new Error(`Cannot request a token for "${name}": the answer has none`);
  const expiresAt = new Date(expirationTimestamp);
  const given = Math.round((expiresAt.getTime() - asked) / 1000);
  if (isLongEnough(given, lifeSeconds)) return { token, expiresAt };
  throw refused(
    "CredentialsMissing",
    `Cannot get a token of ${lifeSeconds} seconds for "${namespace}/${name}": the API server gives ${given}; ` +
      "set the credentials' life to no more than that",
  );
}
