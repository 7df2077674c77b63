/** Statements of in-toto about images, in signed envelopes (DSSE), also inside Sigstore bundles. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Attached } from "./attached.ts";
import { carriedBeside, carriedIn } from "./keyless/carried.ts";
import { parseJson } from "./registry/manifest.ts";
import type { Signed } from "./signed.ts";

const payloadType = "application/vnd.in-toto+json";

const Envelope = z.object({
  payloadType: z.literal(payloadType),
  payload: z.string(),
  signatures: z.array(z.object({ sig: z.string().max(8_192) }).loose()).min(1).max(4),
}).loose();

const Bundle = z.object({ dsseEnvelope: Envelope, verificationMaterial: z.unknown().optional() }).loose();

const Statement = z.object({
  _type: z.string().startsWith("https://in-toto.io/Statement/"),
  predicateType: z.string().max(300),
  subject: z.array(z.object({ digest: z.record(z.string(), z.string()) }).loose()).min(1).max(1_000),
  predicate: z.unknown().optional(),
}).loose();

/** A statement with its signed bytes; not to be trusted before its signature is verified. */
export interface SignedStatement extends Signed {
  predicateType: string;
  predicate: unknown;
  /** Digests of the images that the statement is about. */
  digests: string[];
}

/** The predicate type of a statement that is only a signature, as cosign 3 writes it. */
const signaturePredicate = "https://sigstore.dev/cosign/sign/v1";

/** Returns whether a statement is only a signature. */
export function isSignature({ predicateType }: SignedStatement): boolean {
  return predicateType === signaturePredicate;
}

/** Returns the statement in an envelope or a bundle; undefined for any other content. */
export function readStatement(
  { bytes, annotations }: Pick<Attached, "bytes" | "annotations">,
): SignedStatement | undefined {
  const value = parseJson(bytes);
  const bare = Envelope.safeParse(value).data;
  const bundle = bare === undefined ? Bundle.safeParse(value).data : undefined;
  const envelope = bare ?? bundle?.dsseEnvelope;
  if (envelope === undefined) return undefined;
  const payload = Buffer.from(envelope.payload, "base64");
  const statement = Statement.safeParse(parseJson(payload)).data;
  return statement && {
    predicateType: statement.predicateType,
    predicate: statement.predicate,
    digests: statement.subject.flatMap(({ digest: { sha256 } }) => sha256 === undefined ? [] : [`sha256:${sha256}`]),
    bytes: preAuthenticated(payload),
    signatures: envelope.signatures.map(({ sig }) => Buffer.from(sig, "base64")),
    payload,
    ...(bundle ? { certified: carriedIn(bundle.verificationMaterial) } : {
      envelope: bytes,
      certified: carriedBeside(annotations),
    }),
  };
}

/** Returns the signed bytes of DSSE v1: type and payload, each after its length. */
function preAuthenticated(payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);
}
