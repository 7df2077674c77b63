/** Computes the digests of the CAs that machines trust. */
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { RenderFacts } from "../../profiles/mod.ts";
import type { TrustedCas } from "../../workflows/contracts/mod.ts";

/** Maximum number of digests of a bundle; a larger bundle has a single digest of all its certificates. */
const mostCas = 16;
/** Hex digits of a digest. */
const digits = 16;

const certificate = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g;

/**
 * Returns the digests of the certificates in a PEM text, sorted: the first digits of each SHA-256 fingerprint. The
 * order of the certificates and everything else in the text do not matter.
 */
export function casIn(pem: string): string[] {
  const found = [...pem.matchAll(certificate)].map(([, body = ""]) => digestOf(Buffer.from(body, "base64")));
  const cas = [...new Set(found)].sort();
  return cas.length > mostCas ? [digestOf(cas.join())] : cas;
}

/**
 * Returns the CAs that a machine gets. Its kubeconfig has the CAs of the cluster; its files have the same, unless
 * `kubernetesCaBundle` replaces them. `cas` are in both, `partly` only in one of the two.
 */
export function trustedCas({ cluster, settings }: {
  cluster: Pick<RenderFacts["cluster"], "caPem">;
  settings: Pick<RenderFacts["settings"], "kubernetesCaBundle">;
}): TrustedCas {
  const joining = casIn(cluster.caPem);
  const inFiles = casIn(settings.kubernetesCaBundle || cluster.caPem);
  const cas = joining.filter((ca) => inFiles.includes(ca));
  const partly = [...new Set([...joining, ...inFiles])].filter((ca) => !cas.includes(ca)).sort();
  return { cas, ...(partly.length > 0 ? { partly } : {}) };
}

function digestOf(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, digits);
}
