/** Verifies that a log entry is about a signature, because attackers could attach the entry of another signature. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../registry/manifest.ts";
import type { Signed } from "../signed.ts";
import { certificatesIn } from "./pem.ts";

const Hash = z.object({ algorithm: z.literal("sha256"), value: z.string() }).loose();

/** The common fields of all types of entries. */
interface Recorded {
  /** The field of `Signed` whose SHA-256 hash the entry contains. */
  of: "bytes" | "payload" | "envelope";
  hash: string;
  signers: {
    /** The signature in base64; undefined if `hash` covers the signature too. */
    signature?: string;
    /** The certificate in PEM, in base64. */
    certificate: string;
  }[];
}

/** The entry of a simple signature. */
const HashedRekord = z.object({
  apiVersion: z.literal("0.0.1"),
  kind: z.literal("hashedrekord"),
  spec: z.object({
    data: z.object({ hash: Hash }).loose(),
    signature: z.object({ content: z.string(), publicKey: z.object({ content: z.string() }).loose() }).loose(),
  }).loose(),
}).loose().transform(({ spec: { data: { hash }, signature: { content, publicKey } } }): Recorded => {
  return { of: "bytes", hash: hash.value, signers: [{ signature: content, certificate: publicKey.content }] };
});

/** An entry for an envelope (DSSE): the hash of its payload, and each signature with its certificate. */
const Dsse = z.object({
  apiVersion: z.literal("0.0.1"),
  kind: z.literal("dsse"),
  spec: z.object({
    payloadHash: Hash,
    signatures: z.array(z.object({ signature: z.string(), verifier: z.string() }).loose()).max(4),
  }).loose(),
}).loose().transform(({ spec: { payloadHash, signatures } }): Recorded => {
  const signers = signatures.map(({ signature, verifier }) => ({ signature, certificate: verifier }));
  return { of: "payload", hash: payloadHash.value, signers };
});

/** The older type of entry for an envelope: the hash of all bytes of the envelope, and one certificate. */
const InToto1 = z.object({
  apiVersion: z.literal("0.0.1"),
  kind: z.literal("intoto"),
  spec: z.object({ content: z.object({ hash: Hash }).loose(), publicKey: z.string() }).loose(),
}).loose().transform(({ spec: { content: { hash }, publicKey } }): Recorded => {
  return { of: "envelope", hash: hash.value, signers: [{ certificate: publicKey }] };
});

/**
 * The newer type of entry for an envelope, with signatures in base64 of base64; npm and GitHub used it before `dsse`.
 */
const InToto2 = z.object({
  apiVersion: z.literal("0.0.2"),
  kind: z.literal("intoto"),
  spec: z.object({
    content: z.object({
      payloadHash: Hash,
      envelope: z.object({
        signatures: z.array(z.object({ sig: z.string(), publicKey: z.string() }).loose()).max(4),
      }).loose(),
    }).loose(),
  }).loose(),
}).loose().transform(({ spec: { content: { payloadHash, envelope } } }): Recorded => {
  const signers = envelope.signatures.map(({ sig, publicKey }) => ({ signature: textOf(sig), certificate: publicKey }));
  return { of: "payload", hash: payloadHash.value, signers };
});

const Body = z.union([HashedRekord, Dsse, InToto1, InToto2]);

/** Returns whether an entry (base64 of its body) is about this signature of `signed` and this certificate (DER). */
export function isAbout(
  body: string,
  signed: Signed,
  { signature, certificate }: { signature: Uint8Array; certificate: Uint8Array },
): boolean {
  const recorded = Body.safeParse(parseJson(Buffer.from(body, "base64"))).data;
  const hashed = recorded && signed[recorded.of];
  if (hashed === undefined || recorded?.hash !== createHash("sha256").update(hashed).digest("hex")) return false;
  return recorded.signers.some((each) => {
    const isSame = each.signature === undefined || Buffer.from(each.signature, "base64").equals(signature);
    return isSame && isCertificate(each.certificate, certificate);
  });
}

function isCertificate(text: string, certificate: Uint8Array): boolean {
  const [first] = certificatesIn(textOf(text), 1) ?? [];
  return first !== undefined && Buffer.from(certificate).equals(first);
}

function textOf(base64: string): string {
  return Buffer.from(base64, "base64").toString("latin1");
}
