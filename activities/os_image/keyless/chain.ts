/** Chains of certificates, from whoever signed up to an authority that a spec gives. */
import { type Certificate, codeSigning } from "./certificate.ts";

interface Grounds {
  roots: readonly Certificate[];
  /** When all of them have to be valid (epoch ms). */
  at: number;
}

/**
 * Whether a certificate goes back to one of the roots. The chain has to be in order, the issuer first: so what
 * somebody pushed costs us no search.
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

/** `below`: how many authorities stand below the one that issued. */
function isIssued(certificate: Certificate, by: Certificate, { at, below }: { at: number; below: number }): boolean {
  return by.depth !== undefined && below <= by.depth && isForCode(by) && isValid(by, at) &&
    certificate.issuer === by.subject && certificate.isSignedBy(by.key);
}

/** An authority for one purpose vouches for no other. */
function isForCode({ purposes }: Certificate): boolean {
  return purposes === undefined || purposes.includes(codeSigning);
}

function isValid({ from, until }: Certificate, at: number): boolean {
  return from <= at && at <= until;
}
