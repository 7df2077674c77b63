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
  /** The first refusal of access to an attachment; the result is then inconclusive unless the others suffice. */
  denied?: Unfit | undefined;
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

/** Returns the attachments of a digest within `attachmentLimits`, those at cosign's tags first; skips invalid ones. */
export async function attachedTo(registry: Registry, digest: string): Promise<Attachments> {
  const tag = digest.replace(":", "-");
  const access = new Access();
  // Harbor before 2.8 answers 401 to the referrers API, which it does not support.
  const index = await access.read(registry.referrers(digest)) ??
    (access.denied ? await access.read(registry.manifest(tag).then((fallback) => fallback?.bytes)) : undefined);
  const listed = index === undefined ? [] : index === "Invalid" ? undefined : listedIn(index);
  const names = [`${tag}.sig`, `${tag}.att`, ...(listed ?? []).map((each) => each.digest)];
  const found: Attached[] = [];
  let isPartial = listed === undefined || names.length > attachmentLimits.manifests;
  let left = attachmentLimits.mebibytes * 1024 * 1024;
  for (const name of names.slice(0, attachmentLimits.manifests)) {
    const layers = await layersOf(registry, name, access);
    if (layers === "Invalid") isPartial = true;
    for (const layer of layers === "Invalid" ? [] : layers) {
      if (!isOurs(layer)) continue;
      if (found.length >= attachmentLimits.blobs) return { found, isPartial: true, denied: access.denied };
      const blob = await read(registry, layer, { left, access });
      if (blob === undefined || blob === "Invalid") isPartial = true;
      else {
        found.push(blob);
        left -= blob.bytes.length;
      }
    }
  }
  return { found, isPartial, denied: access.denied };
}

async function layersOf(registry: Registry, name: string, access: Access): Promise<Layer[] | "Invalid"> {
  const fetched = await access.read(registry.manifest(name));
  if (fetched === undefined) return [];
  const read = fetched === "Invalid" ? fetched : await ifValid(Promise.resolve().then(() => readManifest(fetched)));
  if (read === "Invalid") return read;
  return read?.kind === "Manifest" ? read.manifest.layers : [];
}

function isOurs({ mediaType }: Layer): boolean {
  return mediaType === simpleSigning || statements.test(mediaType);
}

async function read(
  registry: Registry,
  { mediaType, digest, annotations = {} }: Layer,
  { left, access }: { left: number; access: Access },
): Promise<Attached | "Invalid" | undefined> {
  const limit = Math.min(left, mediaType === simpleSigning ? largestPayload : largestStatement);
  const blob = await access.read(registry.blob(digest, limit));
  return blob && blob !== "Invalid" ? { mediaType, bytes: blob.bytes, annotations } : blob;
}

/**
 * Reads attachments, and remembers the first refusal of access to one: registries also refuse access to what they do
 * not have, such as a missing tag in Artifactory.
 */
class Access {
  denied: Unfit | undefined;

  /** Returns the result of `work`, as `ifValid` does; undefined if the registry refuses access. */
  async read<T>(work: Promise<T>): Promise<T | "Invalid" | undefined> {
    try {
      return await ifValid(work);
    } catch (error) {
      if (!(error instanceof Unfit) || error.reason !== "RegistryDenied") throw error;
      this.denied ??= error;
      return undefined;
    }
  }
}

/**
 * Returns the result of `work`; "Invalid" if an attachment is invalid, so that the valid attachments are still read.
 * Throws every other failure of `work`, because it does not concern this attachment alone.
 */
async function ifValid<T>(work: Promise<T>): Promise<T | "Invalid"> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Unfit && error.reason === "ManifestInvalid") return "Invalid";
    throw error;
  }
}
