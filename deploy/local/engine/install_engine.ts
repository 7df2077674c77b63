import { definedVariables, type Environment, findOnPath } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";
import { engineError } from "./engine_error.ts";

/** Who installs, where, and who listens. */
export interface Installation {
  readonly env: Environment;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** What we run ourselves, for the engine and for its first image, and the package that brings it. */
const programs = { dockerd: "docker.io", iptables: "iptables", ip: "iproute2", debootstrap: "debootstrap" } as const;
const aptOptions = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];
const shownLines = 15;

/** True for Debian, Ubuntu and what is made of them; `osRelease` is the text of /etc/os-release. */
export function isDebianLike(osRelease: string): boolean {
  const fields = osRelease.split("\n").filter((line) => /^ID(_LIKE)?=/.test(line));
  const names = fields.flatMap((line) => line.slice(line.indexOf("=") + 1).replaceAll(/["']/g, "").trim().split(/\s+/));
  return names.some((name) => name === "debian" || name === "ubuntu");
}

/** How to get an engine on this host: by us when told so, else by the commands to run. */
export async function howToGetEngine(): Promise<string> {
  const osRelease = await Deno.readTextFile("/etc/os-release").catch(() => "");
  if (!isDebianLike(osRelease)) return "install Docker Engine (https://docs.docker.com/engine/install/) and start it";
  if (Deno.uid() === 0) {
    return `add "--install-docker": Debian's docker.io is then installed, and an engine started for us`;
  }
  return `run as root with "--install-docker", or "sudo apt-get install docker.io && sudo usermod -aG docker $USER"`;
}

/** Installs what an engine of ours needs and is not there; throws where we may not, or are not on Debian or Ubuntu. */
export async function installEngine({ env, onProgress, signal }: Installation): Promise<void> {
  await mayInstall();
  const names = Object.keys(programs) as (keyof typeof programs)[];
  const found = await Promise.all(names.map(async (name) => (await findOnPath(name, env)).length > 0));
  const packages = names.filter((_, index) => !found[index]).map((name) => programs[name]);
  if (packages.length === 0) return;
  onProgress(`installing ${packages.join(", ")} from Debian's packages`);
  await aptGet(["update"], { env, onProgress, signal });
  // To its end, also when nobody wants it any more: cut short, it leaves this host's dpkg in need of repair.
  await aptGet(["install", "--yes", "--no-install-recommends", ...packages], { env, onProgress });
  signal.throwIfAborted();
}

async function mayInstall(): Promise<void> {
  const attempt = "install a Docker engine";
  if (Deno.uid() !== 0) {
    throw engineError({ attempt, state: `we are user ${Deno.uid()}, not root`, cure: await howToGetEngine() });
  }
  if (!isDebianLike(await Deno.readTextFile("/etc/os-release").catch(() => ""))) {
    throw engineError({ attempt, state: "this is neither Debian nor Ubuntu", cure: await howToGetEngine() });
  }
}

async function aptGet(
  args: readonly string[],
  { env, onProgress, signal }: Omit<Installation, "signal"> & Partial<Installation>,
): Promise<void> {
  const { code, lines } = await runCommand({
    program: "/bin/sh",
    // apt tells its progress on standard output; only the other one is passed on line by line.
    args: ["-c", 'exec apt-get "$@" >&2', "sh", ...aptOptions, ...args],
    env: { ...definedVariables(env), DEBIAN_FRONTEND: "noninteractive" },
    signal,
    onLine: (line) => onProgress(`apt-get: ${line.trim()}`),
  });
  if (code === 0) return;
  throw engineError({
    attempt: "install a Docker engine",
    state: `"apt-get ${args.join(" ")}" ended with ${code}`,
    details: lines.slice(-shownLines),
  });
}
