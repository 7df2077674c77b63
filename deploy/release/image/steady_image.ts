/**
 * Writes a built image as an archive whose digest depends only on its content. Newer BuildKits do the same
 * (`rewrite-timestamp`); Debian's engine writes the current time into layers and config.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { endOfArchive, entryOf, padding, type TimeLaw, withLawfulTimes } from "./tar_entries.ts";

export interface SteadyOptions {
  /** Folder of the unpacked output of `docker save`. */
  saved: string;
  /** A folder for the parts from which the archive is written. */
  work: string;
  /** Architecture of the image, such as amd64. */
  architecture: string;
  /** Name of the image, with its tag. */
  name: string;
  /** Latest time in the image, in epoch seconds. */
  latest: number;
  /** Number of layers of the base image; their files keep times before `latest`. */
  baseLayers: number;
  /** Path of the archive. */
  archive: string;
}

/** An image in an archive that Docker engines and containerd load, and that is also an OCI layout. */
export interface SteadyImage {
  archive: string;
  name: string;
  /** Digest of the manifest, which identifies the image in registries. */
  digest: string;
  /** Digest of the config, which identifies the image in an engine. */
  id: string;
  /** Compressed size of manifest, config and layers in bytes. */
  bytes: number;
}

interface Blob {
  digest: string;
  size: number;
}

/** Compression level of gzip: the default takes twice as long for a size that is a few percent smaller. */
const level = 4;
const oci = "application/vnd.oci.image";

/** Writes the image to `archive`; returns its digests and size. */
export async function steadyImage(options: SteadyOptions): Promise<SteadyImage> {
  const { saved, work, name, archive } = options;
  const blobs = join(work, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const [{ Config, Layers }] = JSON.parse(await readFile(join(saved, "manifest.json"), "utf8"));
  const paths = (Layers as string[]).map((layer) => join(saved, layer));
  const layers = await Promise.all(paths.map((path, at) => {
    return writeLayer(path, blobs, { latest: options.latest, isOnly: at >= options.baseLayers });
  }));
  const told = JSON.parse(await readFile(join(saved, Config), "utf8"));
  const config = await writeJson(blobs, configOf(told, layers.map(({ diffId }) => diffId), options));
  const manifest = await writeJson(blobs, {
    schemaVersion: 2,
    mediaType: `${oci}.manifest.v1+json`,
    config: { mediaType: `${oci}.config.v1+json`, ...config },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${oci}.layer.v1.tar+gzip`, digest, size })),
  });
  await writeArchive(options, { manifest, config, layers });
  const bytes = [manifest, config, ...layers].reduce((sum, { size }) => sum + size, 0);
  return { archive, name, digest: manifest.digest, id: config.digest, bytes };
}

/** Writes a compressed layer under its digest; `diffId` is the digest of the uncompressed layer. */
async function writeLayer(path: string, blobs: string, law: TimeLaw): Promise<Blob & { diffId: string }> {
  const [plain, packed] = [createHash("sha256"), createHash("sha256")];
  const unfinished = join(blobs, `unfinished-${createHash("sha256").update(path).digest("hex")}`);
  const steady = Readable.from(seen(withLawfulTimes(createReadStream(path), law), plain));
  await pipeline(steady, createGzip({ level }), (source) => seen(source, packed), createWriteStream(unfinished));
  const hex = packed.digest("hex");
  await rename(unfinished, join(blobs, hex));
  const { size } = await stat(join(blobs, hex));
  return { digest: `sha256:${hex}`, size, diffId: `sha256:${plain.digest("hex")}` };
}

async function* seen(source: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
}

async function writeJson(blobs: string, value: object): Promise<Blob> {
  const text = JSON.stringify(value);
  const hex = createHash("sha256").update(text).digest("hex");
  await writeFile(join(blobs, hex), text);
  return { digest: `sha256:${hex}`, size: new TextEncoder().encode(text).length };
}

interface ToldConfig {
  config: Record<string, unknown>;
  history: { created_by?: string; empty_layer?: boolean }[];
}

const runtimeFields = ["User", "ExposedPorts", "Env", "Entrypoint", "Cmd", "WorkingDir", "Labels", "StopSignal"];

/** Returns the config with runtime fields and history only, without the engine's build containers and times. */
function configOf(told: ToldConfig, diffIds: string[], { latest, architecture }: SteadyOptions): object {
  const created = new Date(latest * 1000).toISOString().replace(".000", "");
  const kept = runtimeFields.filter((name) => told.config[name] !== undefined && told.config[name] !== null);
  return {
    created,
    architecture,
    ...(architecture === "arm64" ? { variant: "v8" } : {}),
    os: "linux",
    config: Object.fromEntries(kept.map((name) => [name, told.config[name]])),
    rootfs: { type: "layers", diff_ids: diffIds },
    history: told.history.map(({ created_by, empty_layer }) => ({
      created,
      ...(created_by === undefined ? {} : { created_by }),
      ...(empty_layer ? { empty_layer } : {}),
    })),
  };
}

async function writeArchive(
  { work, archive, name, latest, architecture }: SteadyOptions,
  { manifest, config, layers }: { manifest: Blob; config: Blob; layers: Blob[] },
): Promise<void> {
  const pathOf = ({ digest }: Blob): string => `blobs/${digest.replace(":", "/")}`;
  const annotations = {
    "io.containerd.image.name": `docker.io/library/${name}`,
    "org.opencontainers.image.ref.name": name.split(":").at(-1),
  };
  const platform = { architecture, os: "linux" };
  const index = { mediaType: `${oci}.manifest.v1+json`, ...manifest, annotations, platform };
  const texts: [string, object][] = [
    ["index.json", { schemaVersion: 2, mediaType: `${oci}.index.v1+json`, manifests: [index] }],
    ["manifest.json", [{ Config: pathOf(config), RepoTags: [name], Layers: layers.map(pathOf) }]],
    ["oci-layout", { imageLayoutVersion: "1.0.0" }],
  ];
  const blobs = new Map([manifest, config, ...layers].map((blob) => [pathOf(blob), blob.size]));
  await pipeline(
    Readable.from((async function* (): AsyncGenerator<Uint8Array> {
      for (const folder of ["blobs/", "blobs/sha256/"]) yield entryOf(folder, undefined, latest);
      for (const [path, size] of [...blobs].sort(([a], [b]) => a < b ? -1 : 1)) {
        yield entryOf(path, { size }, latest);
        yield* createReadStream(join(work, path));
        yield padding(size);
      }
      for (const [path, value] of texts) yield entryOf(path, new TextEncoder().encode(JSON.stringify(value)), latest);
      yield endOfArchive;
    })()),
    createWriteStream(archive),
  );
}
