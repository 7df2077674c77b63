/** The Debian base image, built once from Debian packages and kept by the engine under its name. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { getContainerRuntimeClient } from "testcontainers";
import type { DebianArchives } from "../mirror/debian_archives.ts";
import { takeBuildLock } from "../tools/build_lock.ts";
import { findOnPath } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";

export interface BaseOptions {
  /** Folder for the unpacked system during the build; its file system must allow device files. */
  workFolder: string;
  /** Package archives, for the build and for the machines. */
  archives: DebianArchives;
  onProgress?: (text: string) => void;
  signal?: AbortSignal;
}

/** The Debian release. */
export const suite = "bookworm";
/** Debian's own image of that release, as in deploy/image/Dockerfile. */
export const pinnedBase =
  "debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171";
/** Arguments of tar that exclude apt's downloads from the image. */
const downloads = ["./var/cache/apt/archives/*.deb", "./var/lib/apt/lists/*_*"].map((path) => `--exclude=${path}`);
const folderPrefix = "image-build-";
// The removal is retried, because a killed program may still write a last file.
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 200 };

/**
 * Returns the name of a minimal Debian image with CA certificates. If the engine lacks the image, builds it first; a
 * failed build throws an error that names the failed program. If debootstrap is not installed, or this process is not
 * root, returns the name of Debian's own image, which the engine must be able to pull.
 */
export async function debianBase(options: BaseOptions): Promise<string> {
  const [debootstrap] = await findOnPath("debootstrap", process.env);
  if (debootstrap === undefined || process.getuid?.() !== 0) return pinnedBase;
  const archive = createHash("sha256").update(options.archives.debian).digest("hex").slice(0, 8);
  const name = `ostler-debian:${suite}-${archive}`;
  if (!await hasImage(name)) await importBase({ ...options, debootstrap, name });
  return name;
}

async function importBase(
  { workFolder, archives, debootstrap, name, signal, onProgress }: BaseOptions & { debootstrap: string; name: string },
): Promise<void> {
  using _lock = await takeBuildLock(join(workFolder, "image-lock"), {
    onWait: (holder) => onProgress?.(`waiting for ${holder}, which builds the same image`),
    signal,
  });
  if (await hasImage(name)) return; // built by the previous holder of the lock
  await sweepFolders(workFolder);
  const folder = await mkdtemp(join(workFolder, folderPrefix));
  const env = { PATH: process.env.PATH ?? "", ...proxies(archives) };
  const run = async (program: string, args: string[]): Promise<void> => {
    const { code, lines } = await runCommand({ program, args, env, signal });
    if (code === 0) return;
    throw new Error(`Failed to build a Debian image: "${program}" ended with exit code ${code}: ${lines.at(-1) ?? ""}`);
  };
  try {
    onProgress?.(`Fetching Debian "${suite}" with debootstrap`);
    const root = join(folder, "root");
    const args = ["--variant=minbase", "--include=ca-certificates", suite, root, archives.debian];
    // The mounts of debootstrap disappear with its mount namespace, even if it is killed.
    await run("unshare", ["--mount", debootstrap, ...args]);
    const archive = join(folder, "root.tar");
    await run("tar", ["--create", ...downloads, "--numeric-owner", "--file", archive, "--directory", root, "."]);
    await importArchive(archive, name);
  } finally {
    await rm(folder, removal);
  }
}

// Removes the folders of killed builds.
async function sweepFolders(workFolder: string): Promise<void> {
  const names = (await readdir(workFolder)).filter((name) => name.startsWith(folderPrefix));
  for (const name of names) await rm(join(workFolder, name), removal);
}

/** Returns proxy variables for programs that download: apt's proxy, or those of this process. */
export function proxies({ proxy }: DebianArchives): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => /^(https?|no)_proxy$/.test(name)) as [string, string][];
  return { ...Object.fromEntries(own), ...(proxy === undefined ? {} : { http_proxy: proxy, https_proxy: proxy }) };
}

/** Imports a tar archive of a file system as an image. */
export async function importArchive(archive: string, name: string): Promise<void> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const [repo = "", tag = ""] = name.split(":");
  const answer = await dockerode.importImage(archive, { repo, tag });
  await new Promise<void>((resolve, reject) => {
    dockerode.modem.followProgress(answer, (error: Error | null) => error ? reject(error) : resolve());
  });
}

/** Returns whether the engine has the image. */
export async function hasImage(name: string): Promise<boolean> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const images = await dockerode.listImages({ filters: { reference: [name] } });
  return images.length > 0;
}
