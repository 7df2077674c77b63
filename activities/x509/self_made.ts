/** Certificates that Ostler issues itself, with P-256 keys: an authority, and server certificates that it signs. */
import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
// This import must precede @peculiar/x509, which does not load without it.
import "./reflection.ts";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyedCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The subject of a certificate, and its validity. */
interface CertificateOrder {
  readonly commonName: string;
  readonly from: Date;
  readonly until: Date;
}

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };
const signsCertificates = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature;

/** Creates an authority, which may sign server certificates but no other authority. */
export async function makeAuthority({ commonName, from, until }: CertificateOrder): Promise<KeyedCertificate> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ keys, signingAlgorithm, serialNumber: newSerialNumber(), name: [{ CN: [commonName] }] },
    ...{ notBefore: wholeSeconds(from), notAfter: wholeSeconds(until) },
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(signsCertificates, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return await keyed(certificate, keys.privateKey);
}

/** Creates a server certificate for the given names and IP addresses. */
export async function makeServingCertificate(
  authority: KeyedCertificate,
  { commonName, from, until, hosts }: CertificateOrder & { readonly hosts: readonly string[] },
): Promise<KeyedCertificate> {
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await newKeys();
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? "dns" as const : "ip" as const, value }));
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ signingAlgorithm, serialNumber: newSerialNumber(), subject: [{ CN: [commonName] }], issuer: issuer.subject },
    ...{ notBefore: wholeSeconds(from), notAfter: wholeSeconds(until) },
    ...{ publicKey: keys.publicKey, signingKey: await importKey(authority.key) },
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return await keyed(certificate, keys.privateKey);
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]) as CryptoKeyPair;
}

async function importKey(pem: string): Promise<CryptoKey> {
  const der = x509.PemConverter.decodeFirst(pem);
  return await webcrypto.subtle.importKey("pkcs8", der, keyAlgorithm, false, ["sign"]) as CryptoKey;
}

async function keyed(certificate: x509.X509Certificate, key: CryptoKey): Promise<KeyedCertificate> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key as webcrypto.CryptoKey);
  return { cert: ended(certificate.toString("pem")), key: ended(x509.PemConverter.encode(der, "PRIVATE KEY")) };
}

function newSerialNumber(): string {
  // The first byte keeps the number positive and of full length, as X.509 requires.
  return "4a" + randomBytes(15).toString("hex");
}

// Times in certificates have no fractions of a second.
function wholeSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

function ended(pem: string): string {
  return `${pem.trimEnd()}\n`;
}
