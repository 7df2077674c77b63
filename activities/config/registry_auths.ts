/** How containerd logs in at registries, from the secret that the settings name. */
import { z } from "zod";
import type { RegistryAuth } from "../../profiles/mod.ts";
import { missing } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { readSecretTexts, splitName } from "./referenced_secret.ts";

const text = z.string().optional();
const Auth = z.object({ username: text, password: text, auth: text, identitytoken: text })
  .transform((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
const Auths = z.record(z.string(), Auth);

const dockerType = "kubernetes.io/dockerconfigjson";
const dockerKey = ".dockerconfigjson";

/**
 * Reads `namespace/name`; "" has no credentials. A secret of a Docker config holds all registries in one key, any other
 * has one key a registry. Never quotes what it read.
 */
export async function readRegistryAuths(kube: Kube, setting: string): Promise<Record<string, RegistryAuth>> {
  if (!setting) return {};
  const secret = await readSecretTexts(kube, splitName("the secret of registry credentials", setting));
  if (!secret) throw unusable(setting, "it does not exist");
  const { type, texts } = secret;
  const isDocker = type === dockerType;
  const found = isDocker
    ? (json(texts[dockerKey]) as { auths?: unknown } | undefined)?.auths
    : Object.fromEntries(Object.entries(texts).map(([registry, value]) => [registry, json(value)]));
  const parsed = Auths.safeParse(found);
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path.map(String).join(".");
  const place = isDocker ? [dockerKey, "auths", at].filter(Boolean).join(": ") : at ?? "";
  throw unusable(setting, `"${place}" is no JSON with username, password, auth or identitytoken`);
}

function json(value: string | undefined): unknown {
  try {
    return JSON.parse(value ?? "");
  } catch {
    return undefined; // the schema says which key it was
  }
}

function unusable(setting: string, state: string): Error {
  return missing(`Cannot read registry credentials from secret "${setting}": ${state}`);
}
