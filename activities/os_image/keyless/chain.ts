/** Verifies chains of certificates, from the signer to an authority of the spec. */
import { type Certificate, codeSigning } from "./certificate.ts";

interface Grounds {
  roots: readonly Certificate[];
  /** Time at which all certificates must be valid (epoch ms). */
  at: number;
}

/**
 * Returns whether a certificate chains to one of the roots. In `chain`, each certificate must be followed by its
 * issuer, so that an attacker's chain cannot cause a long search for issuers.
 */
export function isChained(leaf: Certificate, chain: readonly Certificate[], { roots, at }: Grounds): boolean {
  if (!isValid(leaf, at)) return false;
  const path = [leaf, ...chain];
  for (const [below, certificate] of path.entries()) {
    if (roots.some((root) => isIssued(certificate, root, { at, below }))) return true;
    const next = path[below + 1];
    if (next === undefined || !isIssued(certificate, next, { at, below })) return false;
  }
  return false;
}

/** Returns whether `by` issued the certificate; `below` is the number of authorities below `by`. */
function isIssued(certificate: Certificate, by: Certificate, { at, below }: { at: number; below: number }): boolean {
  return by.depth !== undefined && below <= by.depth && isForCode(by) && isValid(by, at) &&
    certificate.issuer === by.subject && certificate.isSignedBy(by.key);
}

/** Returns whether an authority may issue certificates for code signing. */
function isForCode({ purposes }: Certificate): boolean {
  return purposes === undefined || purposes.includes(codeSigning);
}

function isValid({ from, until }: Certificate, at: number): boolean {
  return from <= at && at <= until;
}
