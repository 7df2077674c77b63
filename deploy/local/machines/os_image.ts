/** Builds of the machine image that can be told apart from outside: kubelets report the name of their system. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import { hasImage } from "./debian_base.ts";

const recipeFolder = fileURLToPath(new URL("./os_image/", import.meta.url));

/** What a node of this build reports as its system. */
export function systemName(build: string): string {
  return `Debian GNU/Linux 12, ${build}`;
}

/** Gives the name of a build of this image, made first where the engine does not have it. */
export async function osImage(base: string, build: string): Promise<string> {
  const recipe = createHash("sha256").update(await readFile(join(recipeFolder, "Dockerfile"))).digest("hex");
  const name = `${base}-${recipe.slice(0, 8)}-${build}`;
  if (await hasImage(name)) return name;
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({ BASE: base, BUILD: systemName(build) });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Cannot build image "${name}": ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  });
  return name;
}
