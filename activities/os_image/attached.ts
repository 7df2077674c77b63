/** Reads the attachments of a digest: those at cosign's tags for it, and its referrers (OCI 1.1). */
import { Unfit } from "./fault.ts";
import { type Layer, listedIn, readManifest } from "./registry/manifest.ts";
import type { Registry } from "./registry/registry.ts";

/** A blob that may hold a signature or a statement. */
export interface Attached {
  mediaType: string;
  bytes: Uint8Array;
  /** Annotations of the blob's layer; cosign stores a simple signature there, and the proof of a keyless signature. */
  annotations: Readonly<Record<string, string>>;
}

interface Attachments {
  found: Attached[];
  /** Whether some attachments were not read, because there were too many or because one could not be read. */
  isPartial: boolean;
}

/** Limits for one digest, so that users who may push cannot overload the worker. */
export const attachmentLimits = { manifests: 32, blobs: 64, mebibytes: 16 } as const;
const largestPayload = 64 * 1024;
/** Maximum bytes of a statement; a scan lists every package. */
const largestStatement = 4 * 1024 * 1024;

/** The payload that cosign signs; its signature is an annotation of the layer. */
export const simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json";
const statements =
  /^application\/(vnd\.dsse\.envelope\.v1\+json|vnd\.in-toto\+json|vnd\.dev\.sigstore\.bundle[.a-z0-9]*\+json)$/;

/** Returns all attachments of a digest, signatures by tag first; invalid ones are skipped. */
export async function attachedTo(registry: Registry, digest: string): Promise<Attachments> {
  const tag = digest.replace(":", "-");
  const index = await orNothing(registry.referrers(digest));
  const listed = index === undefined ? [] : listedIn(index);
  const names = [`${tag}.sig`, `${tag}.att`, ...(listed ?? []).map((each) => each.digest)];
  const found: Attached[] = [];
  let isPartial = listed === undefined || names.length > attachmentLimits.manifests;
  let left = attachmentLimits.mebibytes * 1024 * 1024;
  for (const name of names.slice(0, attachmentLimits.manifests)) {
    for (const layer of await layersOf(registry, name)) {
      if (!isOurs(layer)) continue;
      if (found.length >= attachmentLimits.blobs) return { found, isPartial: true };
      const blob = await read(registry, layer, left);
      if (blob) found.push(blob);
      else isPartial = true;
      left -= blob?.bytes.length ?? 0;
    }
  }
  return { found, isPartial };
}

async function layersOf(registry: Registry, name: string): Promise<Layer[]> {
  const fetched = await orNothing(registry.manifest(name));
  if (fetched === undefined) return [];
  const read = await orNothing(Promise.resolve().then(() => readManifest(fetched)));
  return read?.kind === "Manifest" ? read.manifest.layers : [];
}

function isOurs({ mediaType }: Layer): boolean {
  return mediaType === simpleSigning || statements.test(mediaType);
}

async function read(
  registry: Registry,
  { mediaType, digest, annotations = {} }: Layer,
  left: number,
): Promise<Attached | undefined> {
  const limit = Math.min(left, mediaType === simpleSigning ? largestPayload : largestStatement);
  const blob = await orNothing(registry.blob(digest, limit));
  return blob && { mediaType, bytes: blob.bytes, annotations };
}

/**
 * Returns the result of `work`; undefined if an attachment is invalid, which must not hide the others. Throws all other
 * failures of `work`, because they concern the image too.
 */
async function orNothing<T>(work: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Unfit && error.reason === "ManifestInvalid") return undefined;
    throw error;
  }
}
