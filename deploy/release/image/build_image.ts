/** Builds the image of Ostler from its Dockerfile, and writes a reproducible archive of it. */
import { spawn } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getContainerRuntimeClient } from "testcontainers";
import { debianBase, proxies } from "../../local/machines/debian_base.ts";
import { archivesIn, debianArchives } from "../../local/mirror/debian_archives.ts";
import { type BaseImage, baseImages } from "./base_image.ts";
import { fillContext, isChanged, recipe, run } from "./context.ts";
import { type Architecture, architectures, denoImage } from "./deno_image.ts";
import { type SteadyImage, steadyImage } from "./steady_image.ts";

export interface BuildOptions {
  /** Version of Ostler, and tag of the image; the chart also uses the tag as the build ID of the workers. */
  version: string;
  /** The commit that the image states as its source; by default the commit of the project's folder. */
  revision?: string;
  /** Architecture to build for; by default that of this machine. */
  architecture?: Architecture;
  /** Debian image for the architecture; by default one is built from Debian packages. */
  base?: string;
  /** The URL of a snapshot with Debian's packages (`snapshotForm`); by default the APT sources of this host. */
  snapshot?: string;
  /** Output folder of the archive. */
  output: string;
  /**
   * Name of the attempt: the engine reuses cached build steps of Ostler only from an attempt of the same name; with
   * "all", it reuses no cached step at all, so it also installs Debian's packages again.
   */
  attempt?: string;
  onProgress?: (text: string) => void;
}

/**
 * Suppresses tar's warning about files of Deno's cache to which other processes add hard links while tar reads: the
 * content of these files is unchanged.
 */
const calm = ["--warning=no-file-changed"];
/** Name of the image without its tag. */
const repository = "ostler";

export const ownArchitecture: Architecture = Deno.build.arch === "aarch64" ? "arm64" : "amd64";

interface BuiltImage extends SteadyImage {
  /** The base images of the image. */
  bases: BaseImage[];
}

/** Builds on the engine that testcontainers uses; throws with the last lines of the failed step. */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  const { version, output, architecture = ownArchitecture, onProgress = () => {} } = options;
  await mkdir(output, { recursive: true });
  const work = await mkdtemp(join(output, "work-"));
  const raw = `ostler-raw:${architecture}-${Date.now()}`;
  try {
    const { revision, latest } = await sourceOf(options);
    const created = new Date(latest * 1000).toISOString().replace(".000", "");
    const ground = await groundOf(options, work);
    const args = { ...ground, TARGETARCH: architecture, VERSION: version };
    onProgress("Collecting the build context");
    await fillContext(join(work, "context"));
    onProgress(`Building for ${architecture}`);
    const { attempt = "" } = options;
    const given = { ...args, ATTEMPT: attempt, REVISION: revision, CREATED: created, SOURCE_DATE_EPOCH: `${latest}` };
    await build(join(work, "context"), { t: raw, buildargs: given, nocache: attempt === "all" });
    onProgress("Writing the archive");
    const saved = await save(raw, work);
    const archive = join(output, `${repository}-${version}-linux-${architecture}.tar`);
    await copyList(raw, archive.replace(/\.tar$/, ".spdx.json"), work);
    const baseLayers = await layersOf(ground["BASE"] ?? "");
    const name = `${repository}:${version}`;
    const image = await steadyImage({ saved, work, architecture, name, latest, baseLayers, archive });
    return { ...image, bases: await baseImages(ground) };
  } finally {
    await removeImage(raw);
    await rm(work, { recursive: true, force: true });
  }
}

/** Loads the archive into the engine, under the image's name. */
export async function loadImage({ archive }: SteadyImage): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  await followed(await dockerode.loadImage(createReadStream(archive)) as Readable);
}

/**
 * Returns the commit, with suffix -changed if files differ from it, and the time of the commit, which becomes the
 * latest time of files in the image.
 */
async function sourceOf({ revision }: BuildOptions): Promise<{ revision: string; latest: number }> {
  const [commit = "", seconds = ""] = (await run("git", ["log", "-1", "--format=%H %ct"])).trim().split(" ");
  return { revision: revision ?? (await isChanged() ? `${commit}-changed` : commit), latest: Number(seconds) };
}

/** Returns the build arguments for base images and package archives. */
async function groundOf(
  { base, snapshot = "", architecture = ownArchitecture, onProgress }: BuildOptions,
  workFolder: string,
): Promise<Record<string, string>> {
  const archives = archivesIn(await debianArchives(), snapshot);
  const progress = onProgress ? { onProgress } : {};
  const own = (): Promise<string> => debianBase({ workFolder, archives, ...progress });
  if (architecture !== ownArchitecture && base === undefined) {
    throw new Error(
      `Failed to build a Debian image for ${architecture} on ${ownArchitecture}; name an existing one with --base`,
    );
  }
  return {
    BASE: base ?? await own(),
    DENO: await denoImage(architecture, workFolder),
    ...(architecture === ownArchitecture
      ? {}
      : { BUILD_BASE: await own(), BUILD_DENO: await denoImage(ownArchitecture, workFolder) }),
    ARCHIVE: archives.debian,
    ...proxies(archives),
  };
}

async function build(
  context: string,
  options: { t: string; buildargs: Record<string, string>; nocache: boolean },
): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const tar = spawn("tar", ["--create", ...calm, "--directory", context, "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const answer = await dockerode.buildImage(tar.stdout, { ...options, dockerfile: recipe, rm: true, forcerm: true });
  await followed(answer as Readable);
  // Intermediate images would only take disk space, because the next build has other files and cannot reuse them.
  const filters = { dangling: { true: true }, label: { "dev.ostler.step=build": true } };
  await dockerode.pruneImages({ filters: JSON.stringify(filters) }).catch(() => undefined);
}

/** Waits until the engine has built or loaded an image; rejects with the last lines of output if that fails. */
async function followed(answer: Readable): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const end = (error: Error | null): void => error ? reject(withLastLines(error, lines)) : resolve();
    dockerode.modem.followProgress(answer, end, ({ stream }: { stream?: string }) => {
      if (stream?.trim()) lines.push(stream.trim());
    });
  });
}

function withLastLines(error: Error, lines: string[]): Error {
  return new Error(`Failed to build or load the image: ${error.message}; ${lines.slice(-5).join("; ")}`, {
    cause: error,
  });
}

/** Exports an image from the engine, and returns the folder into which the export was unpacked. */
async function save(name: string, work: string): Promise<string> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const archive = join(work, "saved.tar");
  await pipeline(await dockerode.getImage(name).get(), createWriteStream(archive));
  const folder = join(work, "saved");
  await mkdir(folder);
  await run("tar", ["--extract", "--file", archive, "--directory", folder]);
  await rm(archive);
  return folder;
}

async function layersOf(image: string): Promise<number> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  return (await dockerode.getImage(image).inspect()).RootFS.Layers?.length ?? 0;
}

/** Copies the bill of materials out of the image to `target`. */
async function copyList(image: string, target: string, work: string): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const container = await dockerode.createContainer({ Image: image });
  try {
    const tar = join(work, "list.tar");
    const listed = await container.getArchive({ path: "/opt/ostler/bill_of_materials.spdx.json" });
    await pipeline(listed, createWriteStream(tar));
    await writeFile(target, await run("tar", ["--extract", "--to-stdout", "--file", tar]));
  } finally {
    await container.remove({ force: true });
  }
}

async function removeImage(name: string): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  await dockerode.getImage(name).remove({ force: true }).catch(() => undefined);
}

/** Returns whether images can be built for this architecture. */
export function isArchitecture(name: string): name is Architecture {
  return name in architectures;
}
