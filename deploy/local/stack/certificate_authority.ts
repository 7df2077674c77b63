import { randomBytes } from "node:crypto";
// This import must precede that of @peculiar/x509, which does not load without it.
import "../../../activities/x509/reflection.ts";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key (PKCS #8), both in PEM. */
export interface KeyedCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** The Kubernetes group of a client certificate. */
  readonly organization?: string;
  readonly use: "client" | "server" | "client and server";
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };
const dayMs = 24 * 3_600_000;

const extendedUsages = {
  "client": [x509.ExtendedKeyUsage.clientAuth],
  "server": [x509.ExtendedKeyUsage.serverAuth],
  "client and server": [x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth],
};

/** A temporary certificate authority with P-256 keys and certificates that are valid for a year. */
export class CertificateAuthority {
  readonly #keys: CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;

  private constructor(keys: CryptoKeyPair, certificate: x509.X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
  }

  /** Creates an authority with a new key. */
  static async create(commonName: string): Promise<CertificateAuthority> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(),
      serialNumber: newSerialNumber(),
      name: [{ CN: [commonName] }],
      keys,
      signingAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new CertificateAuthority(keys, certificate);
  }

  /** The certificate of the authority in PEM. */
  get certificatePem(): string {
    return pemText(this.#certificate.toString("pem"));
  }

  /**
   * Returns the certificate of the authority with its private key, for programs that issue certificates in its name.
   */
  async keyed(): Promise<KeyedCertificate> {
    return { certificatePem: this.certificatePem, keyPem: await privateKeyPem(this.#keys) };
  }

  /** Issues a leaf certificate with a new key. */
  async issue(request: CertificateRequest): Promise<KeyedCertificate> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(),
      serialNumber: newSerialNumber(),
      subject: subjectOf(request),
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm,
      extensions: await this.#leafExtensions(request),
    });
    return { certificatePem: pemText(certificate.toString("pem")), keyPem: await privateKeyPem(keys) };
  }

  async #leafExtensions(request: CertificateRequest): Promise<x509.Extension[]> {
    const names: x509.JsonGeneralNames = [
      ...(request.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
      ...(request.ipAddresses ?? []).map((value) => ({ type: "ip" as const, value })),
    ];
    return [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(extendedUsages[request.use]),
      await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ];
  }
}

function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
}

function newSerialNumber(): string {
  // The first byte makes the number positive and full length, as X.509 requires.
  return "4a" + randomBytes(15).toString("hex");
}

function subjectOf({ commonName, organization }: CertificateRequest): x509.JsonName {
  return [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [commonName] }];
}

function validity(): { notBefore: Date; notAfter: Date } {
  // Valid from five minutes ago, because clocks may differ; in whole seconds, because X.509 has no fractions.
  const now = Math.floor(Date.now() / 1000) * 1000;
  return { notBefore: new Date(now - 300_000), notAfter: new Date(now + 365 * dayMs) };
}

async function privateKeyPem(keys: CryptoKeyPair): Promise<string> {
  return pemText(x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY"));
}

function pemText(pem: string): string {
  return `${pem.trimEnd()}\n`;
}
