/**
 * Packs the `ostler` command with everything that it needs to run on one system, as an archive to unpack anywhere. The
 * archive has Deno and source files instead of one compiled program: a compiled program has no Deno executable, with
 * which the command renders templates of other authors in a process without permissions.
 */
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchDeno } from "./deno_program.ts";
import type { Target } from "./options.ts";
import { launcher } from "./launcher.ts";
import { root, run, type Source } from "./source.ts";

interface System {
  /** Name of the operating system in Deno and npm. */
  os: string;
  arch: string;
  /** Target triple; the Temporal SDK uses it as the folder name of its native library. */
  triple: string;
}

const systems: Readonly<Record<Target, System>> = {
  "linux-amd64": { os: "linux", arch: "x64", triple: "x86_64-unknown-linux-gnu" },
  "linux-arm64": { os: "linux", arch: "arm64", triple: "aarch64-unknown-linux-gnu" },
  "darwin-amd64": { os: "darwin", arch: "x64", triple: "x86_64-apple-darwin" },
  "darwin-arm64": { os: "darwin", arch: "arm64", triple: "aarch64-apple-darwin" },
};

/** Folders from which the command may import, according to the import rules of the project. */
const rooms = ["activities", "cli", "profiles", "workflows"];

/** The target system, and the version of Deno. */
interface Packing {
  target: Target;
  deno: string;
}

/** Writes ostler-cli-VERSION-TARGET.tar.gz; returns the file name. */
export async function packCommand(
  { target, deno }: Packing,
  { version, time }: Source,
  output: string,
): Promise<string> {
  const system = systems[target];
  const name = `ostler-cli-${version}-${target}`;
  const work = await mkdtemp(join(tmpdir(), "ostler-release-"));
  const folder = join(work, name);
  try {
    await mkdir(folder);
    await fetchDeno(target, deno, folder);
    await copySources(folder);
    await install(folder, system);
    await writeFile(join(folder, "ostler"), launcher, { mode: 0o755 });
    const steady = [
      "--sort=name",
      `--mtime=@${time}`,
      "--owner=0",
      "--group=0",
      "--numeric-owner",
      "--mode=u=rwX,go=rX",
    ];
    const archive = join(output, `${name}.tar.gz`);
    const still = await apart(work, name);
    await run("tar", [...steady, "--use-compress-program=gzip -n", `--file=${archive}`, "--create", name], still);
    return `${name}.tar.gz`;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Copies the files to archive into a folder of their own: packages are hard links into Deno's cache, and tar fails if
 * another process links to a file that tar reads.
 */
async function apart(work: string, name: string): Promise<string> {
  const still = join(work, "still");
  await mkdir(still);
  await run("cp", ["-R", name, still], work);
  return still;
}

async function copySources(folder: string): Promise<void> {
  const files = (await run("git", ["ls-files", "-z", ...rooms, "deno.json", "deno.lock", "package.json"])).split("\0");
  for (const file of files.filter((each) => each !== "" && !/\.(go|md)$/.test(each))) {
    await cp(join(root, file), join(folder, file), { dereference: true });
  }
}

async function install(folder: string, { os, arch, triple }: System): Promise<void> {
  await run(Deno.execPath(), ["install", "--prod", "--frozen", "--quiet", `--os=${os}`, `--arch=${arch}`], folder);
  const client = ["activities/kube/client_node.ts", "--output=client_node.js"];
  await run(Deno.execPath(), ["bundle", "--quiet", "--platform=deno", "--minify", ...client], folder);
  await writeFile(
    join(folder, "imports.json"),
    `{ "imports": { "./activities/kube/client_node.ts": "./client_node.js" } }\n`,
  );
  const store = join(folder, "node_modules/.deno");
  // The command needs neither the packages that bundle workflows, nor those that test pages, nor the package of the
  // Kubernetes client, of which it has a bundle. Of the Temporal SDK, it needs neither the native libraries for other
  // systems nor their sources.
  for (const each of await readdir(store)) {
    if (/^(@swc\+|playwright-core@|@kubernetes\+client-node@)/.test(each)) {
      await rm(join(store, each), { recursive: true });
    }
    if (/^@temporalio\+core-bridge@/.test(each)) await keepNative(join(store, each), triple);
  }
}

async function keepNative(store: string, triple: string): Promise<void> {
  const bridge = join(store, "node_modules/@temporalio/core-bridge");
  const releases = await readdir(join(bridge, "releases"));
  if (!releases.includes(triple)) {
    const others = releases.join(", ");
    throw new Error(`Failed to pack for "${triple}": the Temporal SDK has native libraries only for ${others}`);
  }
  const others = releases.filter((name) => name !== triple).map((name) => `releases/${name}`);
  for (const name of [...others, "sdk-core", "bridge-macros", "src", "Cargo.lock", "Cargo.toml"]) {
    await rm(join(bridge, name), { recursive: true, force: true });
  }
}
