/** The machine image as commits of ostree, and what boots them: made once, and kept by the engine under its recipe. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import type { DebianArchives } from "../../mirror/debian_archives.ts";
import { hasImage, proxies } from "../debian_base.ts";
import { recipeDigest } from "../machine_image.ts";

const recipeFolder = fileURLToPath(new URL("./image/", import.meta.url));

/** The remote of these machines that has the commits; a NodePool names it as its image. */
export const ostreeRemote = "site";
/** Where a machine finds that remote's repository. */
export const remoteRepository = join("/sysroot", "remote");

/** Commits of that remote: what a new machine boots, another build, and one whose health check fails. */
export type Build = "a" | "b" | "c";

/** Gives the name of the image, made of the machine image `base` first where the engine does not have it. */
export async function ostreeImage(base: string, archives: DebianArchives): Promise<string> {
  const name = `ostler-ostree:${await recipeDigest(recipeFolder, [base])}`;
  if (await hasImage(name)) return name;
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({ BASE: base, ...proxies(archives) });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Cannot build image "${name}": ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  });
  return name;
}
