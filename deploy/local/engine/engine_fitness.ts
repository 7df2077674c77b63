import { type DockerApi, DockerRefusal } from "./docker_api.ts";
import { reasonOf } from "./engine_error.ts";
import { hostShell } from "./host_shell.ts";
import { currentBootId } from "./owner.ts";

/** The facts of an engine that determine whether machines can run on it. */
interface EngineFacts {
  readonly OSType: string;
  readonly Driver: string;
  readonly KernelVersion: string;
  readonly CgroupVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
}

/** Whether an engine can run machines, and its properties. */
export interface Fitness {
  /** Why machines cannot run on the engine; undefined if they can. */
  readonly unfit: string | undefined;
  readonly version: string;
  readonly driver: string;
}

const answerMs = 15_000;

/**
 * Checks whether an engine can run machines: whether it reports suitable properties, and whether it runs a privileged
 * container. Never throws: an engine that does not respond is unfit.
 */
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

/**
 * Returns why an engine that reports these properties cannot run machines; undefined if it can. `kernel` is the release
 * of this host's kernel.
 */
export function unfitFacts(facts: EngineFacts, kernel: string): string | undefined {
  const { OSType, Driver, KernelVersion, CgroupVersion } = facts;
  const security = facts.SecurityOptions ?? [];
  const has = (name: string): boolean => security.some((option) => option.startsWith(`name=${name}`));
  if (OSType !== "linux") return `it runs "${OSType}" containers`;
  if (KernelVersion !== kernel) {
    return `it runs on another host: its kernel is "${KernelVersion}", the kernel of this host is "${kernel}"`;
  }
  if (has("rootless")) return "it is rootless, so its networks cannot be reached from this host";
  if (Driver === "vfs") return `its storage driver "vfs" copies the whole image for each machine`;
  if (CgroupVersion === "1" && !has("cgroupns")) {
    return `its containers share the host's cgroups; start the engine with "--default-cgroupns-mode private"`;
  }
  return undefined;
}

/** Returns why a privileged container cannot run in this host's own network; undefined if it can. */
async function cannotRunPrivileged(
  api: DockerApi,
  labels: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const script = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net";
  try {
    const [bootId, network] = (await hostShell(api, labels)(script)).split("\n");
    if (bootId !== await currentBootId()) return "it runs on another host";
    if (network !== await Deno.readLink("/proc/self/ns/net")) return "its networks cannot be reached from this host";
    return undefined;
  } catch (error) {
    return `it cannot run privileged containers: ${error instanceof DockerRefusal ? error.reason : reasonOf(error)}`;
  }
}

function whyNoAnswer(error: unknown): string {
  const { code } = error as { code?: string };
  if (code === "EACCES" || error instanceof Deno.errors.PermissionDenied) {
    return `permission denied: run as root, or as a member of the group of the socket, often "docker"`;
  }
  if (code === "ENOENT") return "the socket does not exist";
  if (code === "ECONNREFUSED") return "no process listens on this socket";
  return `it does not respond like an engine: ${reasonOf(error)}`;
}
