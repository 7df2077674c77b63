/** Signatures of cosign: simple ones, whose signed payload names the image's digest, and signed statements. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { type Attached, simpleSigning } from "./attached.ts";
import { carriedBeside } from "./keyless/carried.ts";
import { parseJson } from "./registry/manifest.ts";
import { isSignature, readStatement } from "./statement.ts";
import { type Signer, signerOf, type Trust } from "./trust.ts";

const Payload = z.object({
  critical: z.object({
    image: z.object({ "docker-manifest-digest": z.string() }).loose(),
    type: z.literal("cosign container image signature"),
  }).loose(),
}).loose();

const signatureAnnotation = "dev.cosignproject.cosign/signature";

/** The result for a signature of another digest, which needs neither verification nor a message. */
const foreign: Signer = { fault: undefined };

/**
 * Returns the signer of a digest according to one of its attachments; undefined if the attachment is not a signature.
 */
export function judgeSignature(attached: Attached, digest: string, trust: Trust): Signer | undefined {
  if (attached.mediaType !== simpleSigning) {
    const statement = readStatement(attached);
    if (statement === undefined || !isSignature(statement)) return undefined;
    return statement.digests.includes(digest) ? signerOf(statement, trust) : foreign;
  }
  const { bytes, annotations } = attached;
  const payload = Payload.safeParse(parseJson(bytes)).data;
  if (payload?.critical.image["docker-manifest-digest"] !== digest) return foreign;
  const signatures = [Buffer.from(annotations[signatureAnnotation] ?? "", "base64")];
  return signerOf({ bytes, signatures, certified: carriedBeside(annotations) }, trust);
}
