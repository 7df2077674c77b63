/**
 * X.509 certificates, limited to the used fields; unknown critical extensions make a certificate invalid. One parser
 * reads all fields, because an attacker could make two parsers see two certificates in the same bytes: the name of one
 * and the signature of the other.
 */
import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
// Must be imported before @peculiar/x509, which does not load without it.
import "../../x509/reflection.ts";
import * as x509 from "@peculiar/x509";
import { elementsIn } from "./der.ts";
import { type Identity, identityIn } from "./identity.ts";

export interface Certificate {
  /** The whole certificate in DER. */
  raw: Uint8Array;
  /** Names in DER, as base64: the texts of different names may look alike. */
  issuer: string;
  subject: string;
  /** Start and end of its validity (epoch ms). */
  from: number;
  until: number;
  key: KeyObject;
  /**
   * Maximum number of authorities below this certificate in a chain; undefined if the certificate is not an authority.
   */
  depth: number | undefined;
  /** Purposes of its key; undefined if it is valid for all purposes. */
  purposes: readonly string[] | undefined;
  /** Whether its key may sign data other than certificates. */
  isSigner: boolean;
  identity: Identity | undefined;
  /** Returns whether `key` signed this certificate, with a strong hash. */
  isSignedBy(key: KeyObject): boolean;
}

export const codeSigning = "1.3.6.1.5.5.7.3.3";

/** Extensions that may be critical: basic constraints, key usage, extended key usage, subject alternative name. */
const understood = ["2.5.29.19", "2.5.29.15", "2.5.29.37", "2.5.29.17"];

/** Reads one certificate; undefined for an invalid one. */
export function readCertificate(der: Uint8Array): Certificate | undefined {
  const [outer, ...others] = elementsIn(der) ?? [];
  const [body, , signature] = outer?.tag === 0x30 ? elementsIn(outer.content) ?? [] : [];
  if (others.length > 0 || body === undefined || signature === undefined) return undefined;
  try {
    const read = new x509.X509Certificate(Buffer.from(der));
    return isUnderstood(read) ? factsOf(read, body.whole) : undefined;
  } catch {
    return undefined; // the parser throws different errors for invalid certificates
  }
}

function isUnderstood({ extensions }: x509.X509Certificate): boolean {
  const isUnique = new Set(extensions.map(({ type }) => type)).size === extensions.length;
  return isUnique && extensions.every(({ type, critical }) => !critical || understood.includes(type));
}

function factsOf(read: x509.X509Certificate, body: Uint8Array): Certificate {
  const usages = read.getExtension(x509.KeyUsagesExtension)?.usages ?? 0;
  const { ca = false, pathLength = Infinity } = read.getExtension(x509.BasicConstraintsExtension) ?? {};
  const isAuthority = ca && (usages & x509.KeyUsageFlags.keyCertSign) !== 0;
  return {
    raw: Buffer.from(read.rawData),
    issuer: Buffer.from(read.issuerName.toArrayBuffer()).toString("base64"),
    subject: Buffer.from(read.subjectName.toArrayBuffer()).toString("base64"),
    from: read.notBefore.getTime(),
    until: read.notAfter.getTime(),
    key: createPublicKey({ key: Buffer.from(read.publicKey.rawData), format: "der", type: "spki" }),
    depth: isAuthority ? pathLength : undefined,
    purposes: read.getExtension(x509.ExtendedKeyUsageExtension)?.usages.map(String),
    isSigner: !ca && (usages & x509.KeyUsageFlags.digitalSignature) !== 0,
    identity: identityIn(read),
    isSignedBy: (key) => isSigned(read, body, key),
  };
}

const keyKinds: Record<string, string> = { "ECDSA": "ec", "RSASSA-PKCS1-v1_5": "rsa", "Ed25519": "ed25519" };
const hashes: Record<string, string> = { "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };

function isSigned({ signature, signatureAlgorithm }: x509.X509Certificate, body: Uint8Array, key: KeyObject): boolean {
  const { name, hash } = signatureAlgorithm as Algorithm & { hash?: Algorithm };
  if (keyKinds[name] !== key.asymmetricKeyType) return false;
  const digest = hashes[hash?.name ?? ""];
  // Only Ed25519 has no separate hash.
  if ((digest === undefined) !== (name === "Ed25519")) return false;
  try {
    return verify(digest ?? null, body, key, Buffer.from(signature));
  } catch {
    return false; // not a valid signature
  }
}
