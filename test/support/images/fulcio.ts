/**
 * A certificate authority that certifies identities for minutes, as Fulcio does; it can also issue invalid
 * certificates.
 */
import { Buffer } from "node:buffer";
import { randomBytes, webcrypto } from "node:crypto";
// This import must come before @peculiar/x509, which does not load without it.
import "../../../activities/x509/reflection.ts";
import * as x509 from "@peculiar/x509";

export const codeSigning = "1.3.6.1.5.5.7.3.3";
const p384 = { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" };
const yearMs = 365 * 86_400_000;

export interface Authority {
  pem: string;
  name: x509.Name;
  key: CryptoKey;
  /** The algorithm of its key, and the hash with which it signs. */
  algorithm: Algorithm & { hash: string };
}

export function rsa(hash: "SHA-1" | "SHA-256"): Authority["algorithm"] {
  const size = { modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) };
  return { name: "RSASSA-PKCS1-v1_5", hash, ...size };
}

/** The constraints of an authority; invalid ones are possible too. */
export interface AuthorityFacts {
  by?: Authority;
  isAuthority?: boolean;
  /** Maximum number of intermediate authorities below it (path length). */
  depth?: number;
  purposes?: string[];
  from?: number;
  until?: number;
  algorithm?: Authority["algorithm"];
  usages?: number;
}

/** Makes an authority, self-signed unless another one signs it. */
export async function makeAuthority(name: string, facts: AuthorityFacts = {}): Promise<Authority> {
  const { by, isAuthority = true, depth, purposes, from = Date.now() - yearMs, until = Date.now() + yearMs } = facts;
  const { usages = x509.KeyUsageFlags.keyCertSign, algorithm = p384 } = facts;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as CryptoKeyPair;
  const subject = new x509.Name(`O=ostler.test, CN=${name}`);
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ subject, issuer: by?.name ?? subject, serialNumber: newSerialNumber() },
    ...{
      publicKey: keys.publicKey,
      signingKey: by?.key ?? keys.privateKey,
      signingAlgorithm: by?.algorithm ?? algorithm,
    },
    ...{ notBefore: new Date(from), notAfter: new Date(until) },
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, depth, true),
      new x509.KeyUsagesExtension(usages, true),
      ...(purposes ? [new x509.ExtendedKeyUsageExtension(purposes)] : []),
    ],
  });
  return { pem: certificate.toString("pem"), name: certificate.subjectName, key: keys.privateKey, algorithm };
}

export interface Holder {
  issuer: string;
  subject: string;
}

/** Fields of a certificate; by default those of Fulcio's certificates. */
export interface LeafFacts {
  /** When the certificate was issued (epoch ms). */
  at?: number;
  purposes?: string[];
  usages?: number;
  isAuthority?: boolean;
  names?: x509.JsonGeneralNames;
  /** The bytes of the extensions with the issuer of the identity, by OID. */
  issuerExtensions?: Record<string, Uint8Array>;
  extensions?: x509.Extension[];
}

/** Certifies the owner of a key (SPKI in DER) for ten minutes; returns PEM. */
export async function certify(
  by: Authority,
  { publicKey, holder }: { publicKey: Uint8Array; holder: Holder },
  facts: LeafFacts = {},
): Promise<string> {
  const { at = Date.now(), purposes = [codeSigning], usages = x509.KeyUsageFlags.digitalSignature } = facts;
  const type = holder.subject.includes("://") ? "url" : "email";
  const { names = [{ type, value: holder.subject }], isAuthority = false, extensions = [] } = facts;
  const { issuerExtensions = bothIssuers(holder) } = facts;
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ subject: "", issuer: by.name, serialNumber: newSerialNumber(), publicKey: Buffer.from(publicKey) },
    ...{ signingKey: by.key, signingAlgorithm: by.algorithm },
    ...{ notBefore: new Date(at - 60_000), notAfter: new Date(at + 540_000) },
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      new x509.KeyUsagesExtension(usages, true),
      new x509.ExtendedKeyUsageExtension(purposes),
      new x509.SubjectAlternativeNameExtension(names, true),
      ...Object.entries(issuerExtensions).map(([oid, value]) => new x509.Extension(oid, false, Buffer.from(value))),
      ...extensions,
    ],
  });
  return certificate.toString("pem");
}

/** Returns both extensions with the issuer of the identity: the older one, which cosign 2 reads, and the newer one. */
function bothIssuers({ issuer }: Holder): Record<string, Uint8Array> {
  return { "1.3.6.1.4.1.57264.1.1": Buffer.from(issuer), "1.3.6.1.4.1.57264.1.8": utf8String(issuer) };
}

export function utf8String(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const length = bytes.length < 0x80 ? [bytes.length] : [0x82, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([0x0c, ...length]), bytes]);
}

/** Returns a random serial number; its first byte keeps the number positive. */
function newSerialNumber(): string {
  return "4a" + randomBytes(15).toString("hex");
}
