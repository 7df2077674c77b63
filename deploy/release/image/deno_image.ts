/** Builds an image with only the Deno binary, equivalent to `denoland/deno:bin`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasImage, importArchive } from "../../local/machines/debian_base.ts";
import { run } from "./context.ts";

/** Architectures of images, with their names in Deno and in npm packages. */
export const architectures = {
  amd64: { deno: "x86_64-unknown-linux-gnu", npm: "x64" },
  arm64: { deno: "aarch64-unknown-linux-gnu", npm: "arm64" },
} as const;

export type Architecture = keyof typeof architectures;

/**
 * Returns the name of an image with the version of Deno that runs this process, built first if the engine lacks it. The
 * binary is that of this process, or for another architecture a download from npm.
 */
export async function denoImage(architecture: Architecture, workFolder: string): Promise<string> {
  const version = Deno.version.deno;
  const name = `ostler-deno:${version}-${architecture}`;
  if (await hasImage(name)) return name;
  const folder = await mkdtemp(join(workFolder, "deno-"));
  try {
    const { deno, npm } = architectures[architecture];
    const binary = Deno.build.target === deno ? Deno.execPath() : await download(folder, npm);
    await run("cp", ["--dereference", binary, join(folder, "deno")]);
    const archive = join(folder, "deno.tar");
    await run("tar", ["--create", "--owner=0", "--group=0", "--file", archive, "--directory", folder, "deno"]);
    await importArchive(archive, name);
    return name;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function download(folder: string, architecture: string): Promise<string> {
  const name = `@deno/linux-${architecture}-glibc`;
  await writeFile(join(folder, "package.json"), JSON.stringify({ dependencies: { [name]: Deno.version.deno } }));
  const args = ["install", "--quiet", "--node-modules-dir=auto", "--os", "linux", "--arch", architecture];
  await run(Deno.execPath(), args, folder);
  return join(folder, "node_modules", name, "deno");
}
