/** Verifies whether an image may run: its age, its signatures, and the statements about its build. */
import type { ClusterObject, ImageEvidence, ImageVerdict, ResolvedImage } from "../../workflows/contracts/mod.ts";
import { moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import type { OSImageSpec } from "../kube/os_images.ts";
import { type Attached, attachedTo, attachmentLimits } from "./attached.ts";
import { ensureYoung } from "./age.ts";
import { orRefused, Unfit } from "./fault.ts";
import type { Registry } from "./registry/registry.ts";
import { requiredOf, requirementOf } from "./required.ts";
import { judgeSignature } from "./signature.ts";
import { readStatement } from "./statement.ts";
import { askingRegistry, readSubject, specOf } from "./subject.ts";
import { faultText, type Signer, type Trust, trustText } from "./trust.ts";

/**
 * Verifies an image according to the spec that it was resolved for; `now` is epoch ms. Throws Moot (GenerationStale) if
 * the OSImage was deleted or replaced, or if its generation has changed since the image was resolved.
 */
export async function verifyImage(
  kube: Kube,
  { object: { name }, image }: { object: ClusterObject; image: ResolvedImage },
  now: number,
): Promise<ImageVerdict> {
  const { generation } = image;
  const subject = await readSubject(kube, name);
  const { uid = subject?.uid } = image;
  if (subject?.generation !== generation || subject.uid !== uid) {
    throw moot(
      "GenerationStale",
      `Failed to verify OSImage "${name}": it was deleted, or its generation is not ${generation} any more`,
    );
  }
  return await orRefused<ImageVerdict>(generation, async () => {
    const asked = specOf(subject);
    ensureYoung(image, asked.spec.maxAge, now);
    const evidence = await askingRegistry(kube, asked, (registry) => evidenceOf(registry, { image, ...asked }));
    return { outcome: "Verified", evidence };
  });
}

interface Case {
  image: ResolvedImage;
  trust: Trust;
  spec: OSImageSpec;
}

/** An attachment of one of an image's digests. */
interface Hung {
  digest: string;
  attached: Attached;
}

async function evidenceOf(registry: Registry, { image, trust, spec }: Case): Promise<ImageEvidence> {
  const digests = [image.digest, ...(image.indexDigest === undefined ? [] : [image.indexDigest])];
  const hung: Hung[] = [];
  let isPartial = false;
  let denied: Unfit | undefined;
  for (const digest of digests) {
    const attachments = await attachedTo(registry, digest);
    isPartial ||= attachments.isPartial;
    denied ??= attachments.denied;
    hung.push(...attachments.found.map((attached) => ({ digest, attached })));
  }
  try {
    return proofIn(hung, { image, digests, trust, spec, isPartial });
  } catch (error) {
    // The missing proof may be in an attachment that the registry refuses to show.
    if (!(error instanceof Unfit) || !denied) throw error;
    throw new Unfit(denied.reason, `${error.message}; ${denied.message}`);
  }
}

function proofIn(
  hung: readonly Hung[],
  { image, digests, trust, spec, isPartial }: Case & { digests: string[]; isPartial: boolean },
): ImageEvidence {
  const signature = signatureIn(hung, { image, trust, isPartial });
  const statements = hung.flatMap(({ attached }) => readStatement(attached) ?? []);
  const { requireProvenance, requireScan } = spec;
  const require = (what: "provenance" | "scan", asked: Parameters<typeof requirementOf>[1]) =>
    requiredOf(statements, requirementOf(what, asked), { digests, trust });
  return {
    ...signature,
    ...(requireProvenance ? { provenance: require("provenance", requireProvenance) } : {}),
    ...(requireScan ? { scan: require("scan", requireScan) } : {}),
  };
}

function signatureIn(
  hung: readonly Hung[],
  { image: { digest }, trust, isPartial }: Omit<Case, "spec"> & { isPartial: boolean },
): Pick<ImageEvidence, "signedBy" | "signed"> {
  const others: Signer[] = [];
  for (const { digest: signed, attached } of hung) {
    const signer = judgeSignature(attached, signed, trust);
    if (signer && "signedBy" in signer) return { signedBy: signer.signedBy, signed };
    if (signer) others.push(signer);
  }
  const { manifests, blobs, mebibytes } = attachmentLimits;
  const most = `${manifests} manifests, ${blobs} blobs, ${mebibytes} MiB`;
  const limited = isPartial ? `; not all attachments could be read (limits for each digest: ${most})` : "";
  if (others.length === 0) throw new Unfit("SignatureMissing", `No signature is attached to ${digest}${limited}`);
  const state = `none of ${others.length} attached signatures is for this digest and made by ${
    trustText(trust)
  }${limited}`;
  throw new Unfit("SignatureInvalid", `No valid signature of ${digest}: ${state}${faultText(others, "; ")}`);
}
