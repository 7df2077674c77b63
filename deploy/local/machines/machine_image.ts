/** The image that machines boot from: Debian's own packages, put together once and kept by the engine under their recipe. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { GenericContainer, getContainerRuntimeClient } from "testcontainers";
import type { DebianArchives } from "../mirror/debian_archives.ts";
import { takeBuildLock } from "../tools/build_lock.ts";
import { findOnPath } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";

export interface ImageOptions {
  /** A folder with room for an unpacked system, emptied afterwards; must allow device files. */
  workFolder: string;
  /** Where its packages come from, now and when it is a machine. */
  archives: DebianArchives;
  onProgress?: (text: string) => void;
  signal?: AbortSignal;
}

const recipeFolder = fileURLToPath(new URL("./image/", import.meta.url));
const suite = "bookworm";
const folderPrefix = "image-build-";
// A program that was killed may write a last file.
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 200 };

/** Gives the name of the machine image, made first where the engine does not have it; throws with the step that failed. */
export async function machineImage(options: ImageOptions): Promise<string> {
  const name = `ostler-machine:${await recipeDigest(options.archives)}`;
  if (await hasImage(name)) return name;
  options.onProgress?.("Building the machine image from Debian's packages, once; this takes some minutes");
  const base = await baseImage(options);
  options.signal?.throwIfAborted();
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({
    BASE: base,
    ARCHIVE: options.archives.debian,
    ...proxies(options.archives),
  });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Cannot build the machine image: ${messageOf(error)}`, { cause: error });
  });
  options.signal?.throwIfAborted();
  return name;
}

async function recipeDigest({ debian }: DebianArchives): Promise<string> {
  const hash = createHash("sha256").update([process.arch, suite, debian].join());
  const files = await readdir(recipeFolder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name)).sort();
  for (const path of paths) hash.update(path.slice(recipeFolder.length)).update(await readFile(path));
  return hash.digest("hex").slice(0, 16);
}

// Without debootstrap the same system may come from a registry, where the engine reaches one.
async function baseImage(options: ImageOptions): Promise<string> {
  const [debootstrap] = await findOnPath("debootstrap", process.env);
  if (debootstrap === undefined || process.getuid?.() !== 0) return `debian:${suite}-slim`;
  const archive = createHash("sha256").update(options.archives.debian).digest("hex").slice(0, 8);
  const name = `ostler-machine-base:${suite}-${archive}`;
  if (!await hasImage(name)) await importBase({ ...options, debootstrap, name });
  return name;
}

async function importBase(
  { workFolder, archives, debootstrap, name, signal, onProgress }: ImageOptions & { debootstrap: string; name: string },
): Promise<void> {
  using _lock = await takeBuildLock(join(workFolder, "image-lock"), {
    onWait: (holder) => onProgress?.(`waiting for ${holder}, which builds the same image`),
    signal,
  });
  if (await hasImage(name)) return; // made by whoever had the lock
  await sweepFolders(workFolder);
  const folder = await mkdtemp(join(workFolder, folderPrefix));
  const env = { PATH: process.env.PATH ?? "", ...proxies(archives) };
  const run = async (program: string, args: string[]): Promise<void> => {
    const { code, lines } = await runCommand({ program, args, env, signal });
    if (code === 0) return;
    throw new Error(`Cannot make the machine image: "${program}" ended with ${code}: ${lines.at(-1) ?? ""}`);
  };
  try {
    onProgress?.(`Fetching Debian "${suite}" with debootstrap`);
    const root = join(folder, "root");
    const args = ["--variant=minbase", "--include=ca-certificates", suite, root, archives.debian];
    // What it mounts goes with it, also when it is killed.
    await run("unshare", ["--mount", debootstrap, ...args]);
    const archive = join(folder, "root.tar");
    await run("tar", ["--create", "--numeric-owner", "--file", archive, "--directory", root, "."]);
    await importArchive(archive, name);
  } finally {
    await rm(folder, removal);
  }
}

// Left by builds that were killed.
async function sweepFolders(workFolder: string): Promise<void> {
  const names = (await readdir(workFolder)).filter((name) => name.startsWith(folderPrefix));
  for (const name of names) await rm(join(workFolder, name), removal);
}

/** Of apt, or else those of our own environment, for whatever fetches by itself. */
function proxies({ proxy }: DebianArchives): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => /^(https?|no)_proxy$/.test(name)) as [string, string][];
  return { ...Object.fromEntries(own), ...(proxy === undefined ? {} : { http_proxy: proxy, https_proxy: proxy }) };
}

async function importArchive(archive: string, name: string): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const [repo = "", tag = ""] = name.split(":");
  const answer = await dockerode.importImage(archive, { repo, tag });
  await new Promise<void>((resolve, reject) => {
    dockerode.modem.followProgress(answer, (error: Error | null) => error ? reject(error) : resolve());
  });
}

async function hasImage(name: string): Promise<boolean> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const images = await dockerode.listImages({ filters: { reference: [name] } });
  return images.length > 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
