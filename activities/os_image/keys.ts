/** Public keys that a spec trusts, and the verification of signatures with them. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { Unfit } from "./fault.ts";
import type { Signed } from "./signed.ts";

export interface TrustedKey {
  key: KeyObject;
  /** "sha256:" and the SHA-256 of its SubjectPublicKeyInfo. */
  fingerprint: string;
}

const block = /^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/;

/** Reads the keys of a field. Throws Unfit for an unsupported key, which it does not quote: it may be a private key. */
export function readKeys(texts: readonly string[], field: string): TrustedKey[] {
  return texts.map((text, at) => {
    const key = block.test(text) ? parsed(text) : undefined;
    if (key === undefined || !isTaken(key)) {
      const kinds = "a PEM public key (ECDSA P-256, Ed25519, or RSA of 2048 to 8192 bits)";
      throw new Unfit("SpecInvalid", `${field}[${at}] is not ${kinds}`);
    }
    const der = key.export({ type: "spki", format: "der" });
    return { key, fingerprint: `sha256:${createHash("sha256").update(der).digest("hex")}` };
  });
}

/**
 * Returns the first of `keys` that made one of these signatures (in cosign's format); undefined if none of them did.
 */
export function keyOf(
  { bytes, signatures }: Pick<Signed, "bytes" | "signatures">,
  keys: readonly TrustedKey[],
): TrustedKey | undefined {
  return keys.find(({ key }) => signatures.some((signature) => isBy(key, bytes, signature)));
}

/** Returns whether a key made a signature over these bytes. */
export function isBy(key: KeyObject, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(key.asymmetricKeyType === "ed25519" ? null : "sha256", bytes, key, signature);
  } catch {
    return false; // not a valid signature
  }
}

/** Returns whether a key has a supported type and size. */
export function isTaken({ asymmetricKeyType: kind, asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  if (kind === "ed25519") return true;
  if (kind === "ec") return details.namedCurve === "prime256v1" || details.namedCurve === "P-256";
  const { modulusLength = 0 } = details;
  return kind === "rsa" && modulusLength >= 2_048 && modulusLength <= 8_192;
}

function parsed(text: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: text, format: "pem", type: "spki" });
  } catch {
    return undefined; // the caller reports an invalid key without quoting the text
  }
}
