/** The image of Ostler as this folder makes it, unpacked as an OCI layout. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { aimTestcontainers } from "../../deploy/local/engine/aim_testcontainers.ts";
import { openEngine } from "../../deploy/local/engine/engine.ts";
import { buildImage } from "../../deploy/local/image/build_image.ts";
import { cacheFolder } from "../../deploy/local/tools/environment.ts";
import { runCommand } from "../../deploy/local/tools/run_command.ts";

/** Lends the folder of the layout; what the engine has kept of another build of the same files serves this one. */
export async function withOstlerLayout(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-layout-"));
  try {
    const { archive } = await build(folder);
    const args = ["--extract", "--file", archive, "--directory", folder];
    const { code, lines } = await runCommand({ program: "tar", args, env: { PATH: process.env["PATH"] ?? "" } });
    if (code !== 0) throw new Error(`Cannot unpack "${archive}": ${lines.join("; ")}`);
    await test(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function build(output: string): ReturnType<typeof buildImage> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) throw new Error("Cannot keep images: neither HOME nor XDG_CACHE_HOME is set");
  const install = process.env["OSTLER_INSTALL_DOCKER"] === "true";
  const engine = await openEngine({ install, directory: join(tools, "..", "machines", "docker") });
  using _aimed = aimTestcontainers(engine.socket);
  try {
    return await buildImage({ version: `0.0.0-test-${process.pid}`, output });
  } finally {
    await engine.stop();
  }
}
