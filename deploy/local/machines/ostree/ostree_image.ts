/**
 * The machine image as ostree commits, with the program that boots them: built once, and kept by the engine under its
 * recipe digest.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import type { DebianArchives } from "../../mirror/debian_archives.ts";
import { hasImage, proxies } from "../debian_base.ts";
import { recipeDigest } from "../machine_image.ts";

const recipeFolder = fileURLToPath(new URL("./image/", import.meta.url));

/** Name of the ostree remote that has the commits; the image of a NodePool is `<remote>@sha256:<commit>`. */
export const ostreeRemote = "site";
/** Path of the repository of `ostreeRemote` on a machine. */
export const remoteRepository = join("/sysroot", "remote");

/**
 * Commits of `ostreeRemote`: "a" is booted by a new machine, "b" differs in its OS name, and the health check of "c"
 * fails.
 */
export type Build = "a" | "b" | "c";

/** Returns the name of the image, built first from the machine image `base` if the engine lacks it. */
export async function ostreeImage(base: string, archives: DebianArchives): Promise<string> {
  const name = `ostler-ostree:${await recipeDigest(recipeFolder, [base])}`;
  if (await hasImage(name)) return name;
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({ BASE: base, ...proxies(archives) });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Failed to build image "${name}": ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  });
  return name;
}
