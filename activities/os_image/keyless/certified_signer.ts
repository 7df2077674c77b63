/**
 * Finds the signer of a keyless signature, whose key existed only for minutes. The proof has three parts: the key
 * signed these bytes, a trusted log recorded the signature at a time, and at that time a trusted authority confirmed
 * the identity of the key's holder.
 */
import { isBy, isTaken } from "../keys.ts";
import type { Certified, LogEntry, Signed } from "../signed.ts";
import { type Certificate, codeSigning, readCertificate } from "./certificate.ts";
import { isChained } from "./chain.ts";
import type { KeylessTrust } from "./keyless_trust.ts";
import { promisedAt } from "./log.ts";
import { isAbout } from "./recorded.ts";

/**
 * The signer as statuses show it, or the fault of the proof: a clause that calls the signature "one", because an image
 * may have several signatures.
 */
export type Verdict = { signedBy: string } | { fault: string };

/** Verifies a keyless signature with the authorities, logs and identities that a spec trusts. */
export function certifiedSigner(signed: Signed, certified: Certified, trust: KeylessTrust): Verdict {
  const leaf = readCertificate(certified.leaf);
  if (leaf === undefined) return unreadable;
  const signature = signed.signatures.find((each) => isTaken(leaf.key) && isBy(leaf.key, signed.bytes, each));
  if (signature === undefined) return { fault: "one was not signed by the key of its certificate" };
  const about = { signature, certificate: leaf.raw };
  const at = loggedAt(certified.entries, trust, (body) => isAbout(body, signed, about));
  if (typeof at === "string") return { fault: at };
  // The chain is read only after the log entry was verified: anyone who may push can attach any chain, but a log limits
  // what it records.
  const chain = certified.chain.map(readCertificate);
  if (!chain.every((each) => each !== undefined)) return unreadable;
  if (!isChained(leaf, chain, { roots: trust.roots, at })) {
    const chains = "one has a certificate that does not chain to any of the spec's roots";
    return { fault: `${chains}, or was not valid when the log recorded the signature` };
  }
  return identified(leaf, trust);
}

/** The fault of evidence that cannot be read. */
export const unreadable = { fault: "one has a certificate or a log entry that cannot be read" };

/**
 * Returns the time of the first valid entry (epoch ms), or why no entry is valid: a clause that calls the signature
 * "one".
 */
function loggedAt(
  entries: readonly LogEntry[],
  { logs }: KeylessTrust,
  isOurs: (body: string) => boolean,
): number | string {
  const promised = entries.filter(({ promise }) => promise !== undefined);
  if (promised.length === 0) return "one has no log entry with an inclusion promise (signed entry timestamp)";
  const ours = promised.filter(({ body }) => isOurs(body));
  if (ours.length === 0) return "one has a log entry for another signature";
  const [at] = ours.flatMap((entry) => promisedAt(entry, logs) ?? []);
  return at ?? "one has a log entry that is not signed by any of the spec's transparency logs";
}

/**
 * Returns the signer if the certificate is for signing code, and its issuer and subject match one identity of the spec;
 * otherwise the fault.
 */
function identified({ identity, purposes = [], isSigner }: Certificate, { identities }: KeylessTrust): Verdict {
  if (!isSigner || !purposes.includes(codeSigning)) {
    return { fault: "one has a certificate that is not for signing code" };
  }
  if (identity === undefined) return { fault: "one has a certificate that does not name exactly one identity" };
  const { issuer, subject } = identity;
  if (identities.some((each) => each.issuer === issuer && each.subject === subject)) {
    return { signedBy: `${issuer} ${subject}` };
  }
  const signer = `"${subject.slice(0, 200)}" (issuer "${issuer.slice(0, 100)}")`;
  return { fault: `one was signed by ${signer}, which is not an identity of the spec` };
}
