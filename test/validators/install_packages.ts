// deno-lint-ignore-file no-console -- this program prints what it installs and why not
// Installs the Debian packages whose programs the tests need, such as validators of rendered profiles; on a developer's
// computer only with --install.
import { existsSync } from "node:fs";
import { findOnPath } from "../../deploy/local/tools/environment.ts";

/** Debian packages, each by the program that the tests need from it. */
const packages: Record<string, string> = {
  // Shows Temporal's web UI as a person sees it.
  chromium: "chromium",
  "cloud-init": "cloud-init",
  // The database that users install for Temporal; PostgreSQL's own programs are not on the PATH, but pg_ctlcluster is.
  pg_ctlcluster: "postgresql",
  "ignition-validate": "ignition",
  // Makes the images of machines that are updated in place.
  ostree: "ostree",
  promtool: "prometheus",
  shellcheck: "shellcheck",
  "systemd-analyze": "systemd",
};

const limitMs = 240_000;

async function missingPackages(): Promise<string[]> {
  const env = Deno.env.toObject();
  const found = await Promise.all(Object.keys(packages).map((program) => findOnPath(program, env)));
  return Object.values(packages).filter((_, index) => found[index]?.length === 0);
}

/** Returns why packages may not or cannot be installed here; undefined if they can. */
function obstacle(): string | undefined {
  const isWanted = Deno.env.get("CI") === "true" || Deno.args.includes("--install");
  if (!isWanted) return "not asked to: neither CI=true nor --install";
  if (!existsSync("/etc/debian_version")) return "this system is not Debian";
  if (Deno.uid() !== 0) return "only root may";
  return undefined;
}

async function aptGet(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("apt-get", {
    args: ["--quiet=2", "--option=DPkg::Lock::Timeout=60", "--option=Acquire::Retries=2", ...args],
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    signal: AbortSignal.timeout(limitMs),
  }).output();
  if (!success) throw new Error(`apt-get ${args[0]} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

async function install(names: readonly string[]): Promise<void> {
  await aptGet("update");
  await aptGet("install", "--yes", "--no-install-recommends", ...names);
}

// A missing package is not an error of this program, because a test without its tool is skipped and names the tool.
const missing = await missingPackages();
const reason = missing.length === 0 ? undefined : obstacle();
if (missing.length === 0) {
  console.log("All programs that the tests need from Debian packages are installed");
} else if (reason !== undefined) {
  console.log(`Not installed: ${missing.join(", ")} (${reason})`);
} else {
  await install(missing).then(
    () => console.log(`Installed: ${missing.join(", ")}`),
    (error) => console.log(`Not installed: ${missing.join(", ")} (${error.message})`),
  );
}
