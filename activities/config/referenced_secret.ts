/** Secrets and config maps that settings and MachineDeployments point at. */
import { Buffer } from "node:buffer";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";

/** A secret's content as text. */
export interface SecretTexts {
  type: string;
  texts: Record<string, string>;
}

/** Reads a secret, or undefined when there is none. */
export async function readSecretTexts(
  kube: Kube,
  where: { namespace: string; name: string },
): Promise<SecretTexts | undefined> {
  const secret = await ifFound(kube.core.readNamespacedSecret(where));
  if (!secret) return undefined;
  const texts = Object.entries(secret.data ?? {}).map(([key, value]) => [key, decode(value)]);
  return { type: secret.type ?? "Opaque", texts: Object.fromEntries(texts) };
}

/** The text of one value of a secret. */
export function decode(value: string): string {
  return Buffer.from(value, "base64").toString();
}

/** Splits `namespace/name`; refuses anything else, naming the setting it stands in. */
export function splitName(setting: string, text: string): { namespace: string; name: string } {
  const [namespace, name, ...more] = text.split("/");
  if (namespace && name && more.length === 0) return { namespace, name };
  throw refused("CredentialsMissing", `Cannot use ${setting} "${text}": namespace/name is needed`);
}
