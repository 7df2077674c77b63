// Entry point: builds the image of Ostler into a folder, and leaves it in the engine.
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../../package.json" with { type: "json" };
import { aimTestcontainers } from "../../local/engine/aim_testcontainers.ts";
import { openEngine } from "../../local/engine/engine.ts";
import { cacheFolder } from "../../local/tools/environment.ts";
import { buildImage, type BuildOptions, isArchitecture, loadImage, ownArchitecture } from "./build_image.ts";
import type { SteadyImage } from "./steady_image.ts";

const help = `Builds the image of Ostler: an archive that engines and containerd load, which is an OCI layout as well.
  --version TEXT    its tag; that of package.json unless told
  --revision TEXT   the commit; that of this folder unless told
  --arch NAME       amd64 or arm64; that of this machine unless told
  --base IMAGE      a Debian with glibc; one made of Debian's packages unless told, for this machine's architecture
  --output FOLDER   where the archive goes; dist unless told
  --check           build a second time from nothing, and fail where the digest is another
`;

const { values } = parseArgs({
  options: {
    version: { type: "string", default: manifest.version },
    revision: { type: "string" },
    arch: { type: "string", default: ownArchitecture },
    base: { type: "string" },
    output: { type: "string", default: "dist" },
    check: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  const { version, revision, arch: architecture, base, output, check } = values;
  if (values.help) return say(help), 0;
  if (!isArchitecture(architecture)) {
    return say(`Cannot build for "${architecture}": it is neither amd64 nor arm64\n`), 2;
  }
  const tools = cacheFolder(process.env);
  if (tools === undefined) return say("Cannot keep images: neither HOME nor XDG_CACHE_HOME is set\n"), 2;
  const onProgress = (text: string): void => say(`${text}\n`);
  const directory = join(tools, "..", "machines", "docker");
  const install = process.env["OSTLER_INSTALL_DOCKER"] === "true";
  const engine = await openEngine({ install, directory, onProgress });
  using _aimed = aimTestcontainers(engine.socket);
  try {
    const options: BuildOptions = {
      ...{ version, architecture, output: resolve(output), onProgress },
      ...(revision === undefined ? {} : { revision }),
      ...(base === undefined ? {} : { base }),
    };
    const image = await buildImage(options);
    await loadImage(image);
    tell(image);
    return check && !await isSame(image, options) ? 1 : 0;
  } finally {
    await engine.stop();
  }
}

async function isSame(first: SteadyImage, options: BuildOptions): Promise<boolean> {
  const output = join(options.output, "again");
  await mkdir(output, { recursive: true });
  const second = await buildImage({ ...options, output, attempt: "all" });
  if (second.digest === first.digest) {
    await rm(output, { recursive: true });
    return say("Built again from nothing: the same digest\n"), true;
  }
  return say(`Built again from nothing: another digest, ${second.digest}; see ${second.archive}\n`), false;
}

function tell({ name, archive, digest, id, bytes }: SteadyImage): void {
  say(`${name}\n  ${archive}\n  digest ${digest}\n  id ${id}\n  ${(bytes / 1e6).toFixed(1)} MB compressed\n`);
}

function say(text: string): void {
  process.stdout.write(text);
}

process.exit(await main());
