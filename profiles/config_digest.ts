import { createHash, createHmac } from "node:crypto";
import { canonicalJson } from "./canonical_json.ts";
import type { RenderFacts } from "./facts.ts";
import { lastingSecrets } from "./hide_secrets.ts";
import type { OsConfig } from "./os_config.ts";

/**
 * SHA-256 in lower-case hex of everything that decides what machines boot with, whatever the order of its keys: of the
 * config as people may see it, rendered with `hideSecrets(facts)`, and of the secrets left out there. Tokens and the
 * kubeconfig do not count: they are renewed without a machine being replaced. Where there are secrets, only who knows
 * the seed can tell from the digest whether a guess at them is right.
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
