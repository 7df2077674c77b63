/** Builds variants of the machine image. Each variant ("build") has its own OS name, which kubelets report. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import { hasImage } from "./debian_base.ts";

const recipeFolder = fileURLToPath(new URL("./os_image/", import.meta.url));

/** Returns the system name that a node of this build reports. */
export function systemName(build: string): string {
  return `Debian GNU/Linux 12, ${build}`;
}

/**
 * Returns the image name of variant `build` of the machine image `base`; creates this image first if the engine lacks
 * it.
 */
export async function osImage(base: string, build: string): Promise<string> {
  const recipe = createHash("sha256").update(await readFile(join(recipeFolder, "Dockerfile"))).digest("hex");
  const name = `${base}-${recipe.slice(0, 8)}-${build}`;
  if (await hasImage(name)) return name;
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({ BASE: base, BUILD: systemName(build) });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Failed to build image "${name}": ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  });
  return name;
}
