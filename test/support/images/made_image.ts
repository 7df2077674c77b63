/** Small images: made of a few bytes, and pushed as any client does. */
import { createHash } from "node:crypto";

/** The content that distinguishes an image. */
export interface ImageFacts {
  /** Content of the image's only layer. */
  content: string;
  platforms?: readonly string[];
  created?: string;
  /** Whether the image is a bare manifest of its first platform, without an index. */
  isSingle?: boolean;
}

export interface MadeImage {
  /** Digest of the index, or of the bare manifest. */
  digest: string;
  /** Digests of the manifests by platform. */
  manifests: Record<string, string>;
  /** Blobs with their digests: those with a media type are manifests, and the blob `digest` gets the tag. */
  blobs: { digest: string; bytes: Uint8Array; mediaType?: string }[];
}

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** Makes an image from bytes; the same facts have the same digests. */
export function makeImage({ content, created, isSingle = false, platforms = ["linux/amd64"] }: ImageFacts): MadeImage {
  const blobs: MadeImage["blobs"] = [];
  const add = (value: unknown, mediaType: string): { mediaType: string; digest: string; size: number } => {
    const bytes = new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
    const digest = digestOf(bytes);
    blobs.push({ digest, bytes, ...(mediaType === types.index || mediaType === types.manifest ? { mediaType } : {}) });
    return { mediaType, digest, size: bytes.length };
  };
  const layers = [add(content, types.layer)];
  const listed = platforms.map((platform) => {
    const [os, architecture] = platform.split("/");
    const rootfs = { type: "layers", diff_ids: layers.map(({ digest }) => digest) };
    const config = add({ os, architecture, rootfs, ...(created === undefined ? {} : { created }) }, types.config);
    const manifest = { schemaVersion: 2, mediaType: types.manifest, config, layers };
    return { ...add(manifest, types.manifest), platform: { os, architecture } };
  });
  const manifests = Object.fromEntries(listed.map(({ digest }, at) => [platforms[at] ?? "", digest]));
  if (isSingle) return { digest: listed[0]?.digest ?? "", manifests, blobs };
  const { digest } = add({ schemaVersion: 2, mediaType: types.index, manifests: listed }, types.index);
  return { digest, manifests, blobs };
}

/** Pushes an image into a repository under a tag; returns it. */
export async function pushImage(host: string, path: string, tag: string, facts: ImageFacts): Promise<MadeImage> {
  const image = makeImage(facts);
  const root = `http://${host}/v2/${path}`;
  for (const { digest, bytes, mediaType } of image.blobs) {
    if (mediaType === undefined) await pushBlob(root, digest, bytes);
    else await put(`${root}/manifests/${digest}`, bytes, mediaType);
  }
  const top = image.blobs.findLast((each) => each.digest === image.digest);
  if (top?.mediaType !== undefined) await put(`${root}/manifests/${tag}`, top.bytes, top.mediaType);
  return image;
}

async function pushBlob(root: string, digest: string, bytes: Uint8Array): Promise<void> {
  const begun = await fetch(`${root}/blobs/uploads/`, { method: "POST" });
  await begun.body?.cancel();
  const url = new URL(begun.headers.get("location") ?? "", root);
  url.searchParams.set("digest", digest);
  await put(url.href, bytes, "application/octet-stream");
}

async function put(url: string, bytes: Uint8Array, type: string): Promise<void> {
  const answer = await fetch(url, { method: "PUT", body: new Uint8Array(bytes), headers: { "content-type": type } });
  await answer.body?.cancel();
  if (answer.status !== 201) throw new Error(`Failed to push "${url}": HTTP ${answer.status}`);
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
