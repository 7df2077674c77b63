import { createHash, createHmac } from "node:crypto";
import { canonicalJson } from "./canonical_json.ts";
import type { RenderFacts } from "./facts.ts";
import { lastingSecrets } from "./hide_secrets.ts";
import type { OsConfig } from "./os_config.ts";

/**
 * Returns the SHA-256 in lower-case hex of everything that decides what machines boot with, independent of the order of
 * keys: the visible config, rendered with `hideSecrets(facts)`, and the secrets that are hidden in it. Tokens and the
 * kubeconfig are not part of the digest, because they are renewed without replacing machines. The secrets enter as an
 * HMAC whose key is the seed, so that a guess at them cannot be confirmed from the digest without the seed.
 */
export function configDigest(shown: OsConfig, facts: RenderFacts): string {
  return createHash("sha256").update(canonicalJson({ config: shown, secrets: sealedSecrets(facts) })).digest("hex");
}

function sealedSecrets(facts: RenderFacts): unknown {
  const secrets = lastingSecrets(facts);
  if (isEmpty(secrets)) return secrets;
  return createHmac("sha256", facts.secrets.seed).update(canonicalJson(secrets)).digest("hex");
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.values(value).every(isEmpty) : value === "";
}
