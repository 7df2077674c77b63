import { definedVariables, type Environment, findOnPath } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";
import { engineError } from "./engine_error.ts";

/** Options of `installEngine`. */
export interface Installation {
  readonly env: Environment;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Programs that the engine and the build of its first image need, and the Debian package of each. */
const programs = { dockerd: "docker.io", iptables: "iptables", ip: "iproute2", debootstrap: "debootstrap" } as const;
const aptOptions = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];
const shownLines = 15;

/** Returns whether the system is Debian, Ubuntu or a derivative; `osRelease` is the text of /etc/os-release. */
export function isDebianLike(osRelease: string): boolean {
  const fields = osRelease.split("\n").filter((line) => /^ID(_LIKE)?=/.test(line));
  const names = fields.flatMap((line) => line.slice(line.indexOf("=") + 1).replaceAll(/["']/g, "").trim().split(/\s+/));
  return names.some((name) => name === "debian" || name === "ubuntu");
}

/** Returns the cure for a missing engine on this host: the flag to install one, or commands to run. */
export async function howToGetEngine(): Promise<string> {
  const osRelease = await Deno.readTextFile("/etc/os-release").catch(() => "");
  if (!isDebianLike(osRelease)) return "install Docker Engine (https://docs.docker.com/engine/install/) and start it";
  if (Deno.uid() === 0) {
    return `add "--install-docker" to install Debian's docker.io and start an engine`;
  }
  const commands = "sudo apt-get install docker.io && sudo usermod -aG docker $USER";
  return `run as root with "--install-docker", or run "${commands}" and log in again`;
}

/**
 * Installs the missing packages of an engine; throws if this process is not root, or the system is not Debian or
 * Ubuntu.
 */
export async function installEngine({ env, onProgress, signal }: Installation): Promise<void> {
  await mayInstall();
  const names = Object.keys(programs) as (keyof typeof programs)[];
  const found = await Promise.all(names.map(async (name) => (await findOnPath(name, env)).length > 0));
  const packages = names.filter((_, index) => !found[index]).map((name) => programs[name]);
  if (packages.length === 0) return;
  onProgress(`installing ${packages.join(", ")} from Debian packages`);
  await aptGet(["update"], { env, onProgress, signal });
  // The installation cannot be cancelled, because an interruption leaves dpkg on this host in need of repair.
  await aptGet(["install", "--yes", "--no-install-recommends", ...packages], { env, onProgress });
  signal.throwIfAborted();
}

async function mayInstall(): Promise<void> {
  const attempt = "install a Docker engine";
  if (Deno.uid() !== 0) {
    throw engineError({
      attempt,
      state: `this process runs as user ${Deno.uid()}, not as root`,
      cure: await howToGetEngine(),
    });
  }
  if (!isDebianLike(await Deno.readTextFile("/etc/os-release").catch(() => ""))) {
    throw engineError({ attempt, state: "this system is neither Debian nor Ubuntu", cure: await howToGetEngine() });
  }
}

async function aptGet(
  args: readonly string[],
  { env, onProgress, signal }: Omit<Installation, "signal"> & Partial<Installation>,
): Promise<void> {
  const { code, lines } = await runCommand({
    program: "/bin/sh",
    // apt prints its progress on standard output, while only standard error is forwarded line by line.
    args: ["-c", 'exec apt-get "$@" >&2', "sh", ...aptOptions, ...args],
    env: { ...definedVariables(env), DEBIAN_FRONTEND: "noninteractive" },
    signal,
    onLine: (line) => onProgress(`apt-get: ${line.trim()}`),
  });
  if (code === 0) return;
  throw engineError({
    attempt: "install a Docker engine",
    state: `"apt-get ${args.join(" ")}" ended with exit code ${code}`,
    details: lines.slice(-shownLines),
  });
}
