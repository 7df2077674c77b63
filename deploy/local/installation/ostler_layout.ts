/** The image of Ostler, built from this checkout and unpacked as an OCI layout. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { aimTestcontainers } from "../engine/aim_testcontainers.ts";
import { type EngineOptions, openEngine } from "../engine/engine.ts";
import { buildImage } from "../../release/image/build_image.ts";
import { runCommand } from "../tools/run_command.ts";

interface LayoutOptions {
  /** Options of the engine, which is open only during the build. */
  engine: EngineOptions;
  version: string;
  /** Folder of the layout; created here, and removed by the caller. */
  folder: string;
}

/** Builds the layout; reuses steps that the engine has cached from a build of the same files. */
export async function makeOstlerLayout({ engine: order, version, folder }: LayoutOptions): Promise<void> {
  const engine = await openEngine(order);
  using _aimed = aimTestcontainers(engine.socket);
  try {
    const { onProgress } = order;
    const output = join(folder, "..", "image");
    const { archive } = await buildImage({ version, output, ...(onProgress ? { onProgress } : {}) });
    order.signal?.throwIfAborted();
    await unpack(archive, folder);
  } finally {
    await engine.stop();
  }
}

async function unpack(archive: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const args = ["--extract", "--file", archive, "--directory", folder];
  const { code, lines } = await runCommand({ program: "tar", args, env: { PATH: process.env["PATH"] ?? "" } });
  if (code !== 0) throw new Error(`Failed to unpack "${archive}": ${lines.join("; ")}`);
}
