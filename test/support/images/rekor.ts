/** A transparency log like Rekor: it records entries, and returns a signed promise that it has recorded them. */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey } from "node:crypto";
import { Signer } from "./signer.ts";

export interface Logged {
  /** The recorded entry, base64. */
  body: string;
  /** When the entry was recorded (epoch seconds). */
  integratedTime: number;
  logIndex: number;
  /** ID of the log, hexadecimal. */
  logID: string;
  /** Signature of the log (SignedEntryTimestamp), base64. */
  promise: string;
}

export class Rekor {
  readonly #signer = new Signer();
  readonly logID: string;
  #count = 0;

  constructor() {
    const der = createPublicKey(this.pem).export({ type: "spki", format: "der" });
    this.logID = createHash("sha256").update(der).digest("hex");
  }

  get pem(): string {
    return this.#signer.pem;
  }

  /** Records an entry at a time (epoch ms). */
  enter(entry: object, at = Date.now()): Logged {
    const body = Buffer.from(canonical(entry)).toString("base64");
    const facts = { body, integratedTime: Math.floor(at / 1_000), logID: this.logID, logIndex: this.#count };
    this.#count += 1;
    return { ...facts, promise: this.#signer.sign(Buffer.from(canonical(facts))) };
  }
}

interface Signature {
  signature: string;
  /** Certificate of the signer in PEM. */
  certificate: string;
}

/** Returns the log entry of a signature of plain bytes. */
export function hashedRekord(bytes: Uint8Array, { signature, certificate }: Signature): object {
  const publicKey = { content: base64(certificate) };
  const spec = { data: { hash: hashOf(bytes) }, signature: { content: signature, publicKey } };
  return { apiVersion: "0.0.1", kind: "hashedrekord", spec };
}

/** Returns the log entry of a signed envelope (DSSE). */
export function dsseEntry(envelope: string, certificate: string): object {
  const { payload, signatures } = JSON.parse(envelope) as { payload: string; signatures: { sig: string }[] };
  const spec = {
    envelopeHash: hashOf(Buffer.from(envelope)),
    payloadHash: hashOf(Buffer.from(payload, "base64")),
    signatures: signatures.map(({ sig }) => ({ signature: sig, verifier: base64(certificate) })),
  };
  return { apiVersion: "0.0.1", kind: "dsse", spec };
}

/** Returns the older type of log entry of a signed envelope (in-toto). */
export function inTotoEntry(envelope: string, certificate: string): object {
  const { payload } = JSON.parse(envelope) as { payload: string };
  const content = { hash: hashOf(Buffer.from(envelope)), payloadHash: hashOf(Buffer.from(payload, "base64")) };
  return { apiVersion: "0.0.1", kind: "intoto", spec: { content, publicKey: base64(certificate) } };
}

/** Returns the older type of log entry (in-toto) in its second version, 0.0.2, which npm and GitHub used. */
export function inTotoEntry2(envelope: string, certificate: string): object {
  const { payload, payloadType, signatures } = JSON.parse(envelope) as {
    payload: string;
    payloadType: string;
    signatures: { sig: string }[];
  };
  const signers = signatures.map(({ sig }) => ({ sig: base64(sig), publicKey: base64(certificate) }));
  const content = {
    envelope: { payloadType, signatures: signers },
    hash: hashOf(Buffer.from(envelope)),
    payloadHash: hashOf(Buffer.from(payload, "base64")),
  };
  return { apiVersion: "0.0.2", kind: "intoto", spec: { content } };
}

function hashOf(bytes: Uint8Array): { algorithm: string; value: string } {
  return { algorithm: "sha256", value: createHash("sha256").update(bytes).digest("hex") };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** JSON with sorted keys (RFC 8785). */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, each: unknown) =>
      typeof each === "object" && each !== null && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => a < b ? -1 : 1))
        : each,
  );
}
