/** The image of Ostler as this folder makes it, unpacked as an OCI layout. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runCommand } from "../../deploy/local/tools/run_command.ts";
import { withImage } from "./image/image_ground.ts";

/** Lends the folder of the layout; what the engine has kept of another build of the same files serves this one. */
export async function withOstlerLayout(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-layout-"));
  try {
    await withImage(({ image: { archive } }) => unpack(archive, folder));
    await test(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function unpack(archive: string, folder: string): Promise<void> {
  const args = ["--extract", "--file", archive, "--directory", folder];
  const { code, lines } = await runCommand({ program: "tar", args, env: { PATH: process.env["PATH"] ?? "" } });
  if (code !== 0) throw new Error(`Cannot unpack "${archive}": ${lines.join("; ")}`);
}
