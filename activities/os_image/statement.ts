/** Statements of in-toto about images, in the envelopes (DSSE) that are signed; also inside of Sigstore's bundles. */
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

/** A statement, and what was signed; nothing of it is to be believed before its signature is seen to be good. */
export interface SignedStatement extends Signed {
  predicateType: string;
  predicate: unknown;
  /** Of its subjects. */
  digests: string[];
}

/** The predicate of a statement that is nothing but a signature, as cosign 3 writes it. */
const signaturePredicate = "https://sigstore.dev/cosign/sign/v1";

/** Whether a statement only says that somebody signed. */
export function isSignature({ predicateType }: SignedStatement): boolean {
  return predicateType === signaturePredicate;
}

/** The statement of an envelope or a bundle; undefined for anything else. */
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

/** As DSSE v1 has it: type and payload, each behind its length. */
function preAuthenticated(payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);
}
