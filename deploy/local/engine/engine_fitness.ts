import { type DockerApi, DockerRefusal } from "./docker_api.ts";
import { reasonOf } from "./engine_error.ts";
import { hostShell } from "./host_shell.ts";
import { currentBootId } from "./owner.ts";

/** What an engine tells of itself that decides whether machines can run on it. */
export interface EngineFacts {
  readonly OSType: string;
  readonly Driver: string;
  readonly KernelVersion: string;
  readonly CgroupVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
}

/** What an engine can do for us. */
export interface Fitness {
  /** Why no machine can run on it; undefined when one can. */
  readonly unfit: string | undefined;
  readonly version: string;
  readonly driver: string;
}

const answerMs = 15_000;

/** Asks an engine, and runs one privileged container on it; an engine that does not answer is unfit, never an error. */
export async function judgeEngine(api: DockerApi, labels: Readonly<Record<string, string>>): Promise<Fitness> {
  try {
    const options = { timeoutMs: answerMs };
    const { Version } = await api.get<{ Version: string }>("/version", options);
    const facts = await api.get<EngineFacts>("/info", options);
    const unfit = unfitFacts(facts, Deno.osRelease()) ?? await cannotRunPrivileged(api, labels);
    return { unfit, version: Version, driver: facts.Driver };
  } catch (error) {
    return { unfit: whyNoAnswer(error), version: "", driver: "" };
  }
}

/** Judges by what the engine says of itself; `kernel` is the release of this host's kernel. */
export function unfitFacts(facts: EngineFacts, kernel: string): string | undefined {
  const { OSType, Driver, KernelVersion, CgroupVersion } = facts;
  const security = facts.SecurityOptions ?? [];
  const has = (name: string): boolean => security.some((option) => option.startsWith(`name=${name}`));
  if (OSType !== "linux") return `it runs "${OSType}" containers`;
  if (KernelVersion !== kernel) return `it runs on another machine: its kernel is "${KernelVersion}", ours "${kernel}"`;
  if (has("rootless")) return "it is rootless, so that its networks cannot be reached from this host";
  if (Driver === "vfs") return `its storage driver "vfs" copies the whole image for each machine`;
  if (CgroupVersion === "1" && !has("cgroupns")) {
    return `its containers share the host's cgroups: start it with "--default-cgroupns-mode private"`;
  }
  return undefined;
}

/** Why a privileged container does not run on this host's own network; undefined when it does. */
export async function cannotRunPrivileged(
  api: DockerApi,
  labels: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const script = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net";
  try {
    const [bootId, network] = (await hostShell(api, labels)(script)).split("\n");
    if (bootId !== await currentBootId()) return "it runs on another machine";
    if (network !== await Deno.readLink("/proc/self/ns/net")) return "its networks cannot be reached from here";
    return undefined;
  } catch (error) {
    return `it cannot run privileged containers: ${error instanceof DockerRefusal ? error.reason : reasonOf(error)}`;
  }
}

function whyNoAnswer(error: unknown): string {
  const { code } = error as { code?: string };
  if (code === "EACCES" || error instanceof Deno.errors.PermissionDenied) {
    return `we may not use it: the socket belongs to another user, often of group "docker"`;
  }
  if (code === "ENOENT") return "there is no such socket";
  if (code === "ECONNREFUSED") return "nobody listens on this socket";
  return `it does not answer as an engine does: ${reasonOf(error)}`;
}
