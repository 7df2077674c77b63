// Entry point: builds the image of Ostler into a folder, and loads it into the engine.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../../package.json" with { type: "json" };
import { aimTestcontainers } from "../../local/engine/aim_testcontainers.ts";
import { openEngine } from "../../local/engine/engine.ts";
import { cacheFolder } from "../../local/tools/environment.ts";
import { buildImage, type BuildOptions, isArchitecture, loadImage, ownArchitecture } from "./build_image.ts";
import type { SteadyImage } from "./steady_image.ts";

const help =
  `Build the image of Ostler as an archive that Docker engines and containerd load, and that is also an OCI layout.
  --version TEXT    Set the tag (default version of package.json)
  --revision TEXT   Set the commit (default commit of this folder)
  --arch NAME       Build for amd64 or arm64 (default architecture of this machine)
  --base IMAGE      Use a Debian image with glibc (default built from Debian packages, for this machine's architecture)
  --snapshot URL    Take Debian packages from this snapshot, .../debian/20260824T000000Z (default APT sources of this host)
  --output FOLDER   Write the archive to FOLDER (default dist)
  --bases FILE      Write names and digests of the base images to FILE, as JSON
  --check           Build again without cache, fail if the digest differs
`;

const { values } = parseArgs({
  options: {
    version: { type: "string", default: manifest.version },
    revision: { type: "string" },
    arch: { type: "string", default: ownArchitecture },
    base: { type: "string" },
    snapshot: { type: "string", default: "" },
    output: { type: "string", default: "dist" },
    bases: { type: "string", default: "" },
    check: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  const { version, revision, arch: architecture, base, snapshot, output, check } = values;
  if (values.help) return say(help), 0;
  if (!isArchitecture(architecture)) {
    return say(`Invalid --arch "${architecture}": accepted are amd64, arm64\n`), 2;
  }
  const tools = cacheFolder(process.env);
  if (tools === undefined) {
    return say("Failed to find a cache folder: neither HOME nor XDG_CACHE_HOME is set; set one\n"), 2;
  }
  const onProgress = (text: string): void => say(`${text}\n`);
  const directory = join(tools, "..", "machines", "docker");
  const install = process.env["OSTLER_INSTALL_DOCKER"] === "true";
  const engine = await openEngine({ install, directory, onProgress });
  using _aimed = aimTestcontainers(engine.socket);
  try {
    const options: BuildOptions = {
      ...{ version, architecture, snapshot, output: resolve(output), onProgress },
      ...(revision === undefined ? {} : { revision }),
      ...(base === undefined ? {} : { base }),
    };
    const image = await buildImage(options);
    await loadImage(image);
    if (values.bases !== "") await writeFile(values.bases, JSON.stringify(image.bases));
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
    return say("Built again without cache: the digest is the same\n"), true;
  }
  return say(`Built again without cache: the digest differs, ${second.digest}; see ${second.archive}\n`), false;
}

function tell({ name, archive, digest, id, bytes }: SteadyImage): void {
  say(`${name}\n  ${archive}\n  digest ${digest}\n  id ${id}\n  ${(bytes / 1e6).toFixed(1)} MB compressed\n`);
}

function say(text: string): void {
  process.stdout.write(text);
}

process.exit(await main());
