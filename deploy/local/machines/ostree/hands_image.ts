/**
 * The image of hands, the pods with which Ostler changes the operating system of a node: a minimal Debian system, as an
 * OCI layout that the machines' mirror serves by digest.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { getContainerRuntimeClient } from "testcontainers";
import { aimTestcontainers } from "../../engine/aim_testcontainers.ts";
import { type EngineOptions, openEngine } from "../../engine/engine.ts";
import { ownArchitecture } from "../../../release/image/build_image.ts";
import { debianBase } from "../debian_base.ts";
import { debianArchives } from "../../mirror/debian_archives.ts";
import type { LayoutImage } from "../../mirror/layout_image.ts";

export interface HandsImage {
  layout: LayoutImage;
  /** Repository and digest, to be prefixed with the mirror's address. */
  reference: string;
}

interface HandsOptions {
  /** Folder of the layout; the caller removes it. */
  folder: string;
  /** Folder that keeps the inputs of images between runs. */
  workFolder: string;
  /** Options of the engine, which is open only during the build. */
  engine: EngineOptions;
}

/** Writes the layout; returns it with the reference of its image. */
export async function handsImage({ folder, workFolder, engine: order }: HandsOptions): Promise<HandsImage> {
  const engine = await openEngine(order);
  using _aimed = aimTestcontainers(engine.socket);
  try {
    const base = await debianBase({ workFolder, archives: await debianArchives() });
    order.signal?.throwIfAborted();
    const layer = await exported(base, engine.runLabels(), folder);
    const manifest = await manifestOver(layer, folder);
    await writeFile(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
    const repository = "ostler/hands";
    return { layout: { folder, repository, tags: [] }, reference: `${repository}@${manifest.digest}` };
  } finally {
    await engine.stop();
  }
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** Returns the file system of an image as one layer. */
async function exported(image: string, labels: Record<string, string>, folder: string): Promise<Descriptor> {
  await mkdir(join(folder, "blobs", "sha256"), { recursive: true });
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const container = await dockerode.createContainer({ Image: image, Cmd: ["true"], Labels: labels });
  const file = join(folder, "layer.tar");
  try {
    await pipeline(await container.export(), createWriteStream(file));
  } finally {
    await container.remove();
  }
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk);
    size += chunk.length;
  }
  const hex = hash.digest("hex");
  await rename(file, join(folder, "blobs", "sha256", hex));
  return { mediaType: "application/vnd.oci.image.layer.v1.tar", digest: `sha256:${hex}`, size };
}

async function manifestOver(layer: Descriptor, folder: string): Promise<Descriptor> {
  const config = await blob(folder, "application/vnd.oci.image.config.v1+json", {
    ...{ architecture: ownArchitecture, os: "linux", config: {} },
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  });
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  return await blob(folder, mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
}

async function blob(folder: string, mediaType: string, content: object): Promise<Descriptor> {
  const text = JSON.stringify(content);
  const hex = createHash("sha256").update(text).digest("hex");
  await writeFile(join(folder, "blobs", "sha256", hex), text);
  return { mediaType, digest: `sha256:${hex}`, size: text.length };
}
