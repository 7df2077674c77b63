/** Properties of this host that affect the configuration of kubelets on its machines. */
import process from "node:process";
import { lacksSysResource } from "../engine/runtime_wrapper.ts";
import { runCommand } from "../tools/run_command.ts";

export interface HostFacts {
  /** Whether the host uses cgroup v2 only; otherwise kubelets must be configured to accept v1. */
  hasCgroupV2: boolean;
  /** Whether no process can get CAP_SYS_RESOURCE, so that no process can lower an OOM score. */
  lacksSysResource: boolean;
}

/** Reads the facts in a child process, because Deno reads /proc and /sys only with all permissions. */
export async function hostFacts(): Promise<HostFacts> {
  const [filesystem, status] = await Promise.all([
    output("stat", ["--file-system", "--format=%T", "/sys/fs/cgroup"]),
    output("cat", ["/proc/self/status"]),
  ]);
  return { hasCgroupV2: filesystem.trim() === "cgroup2fs", lacksSysResource: lacksSysResource(status) };
}

async function output(program: string, args: string[]): Promise<string> {
  const { code, stdout, lines } = await runCommand({ program, args, env: { PATH: process.env.PATH ?? "" } });
  if (code !== 0) {
    throw new Error(
      `Failed to read facts of this host: "${program}" ended with exit code ${code}: ${lines.at(-1) ?? ""}`,
    );
  }
  return stdout;
}
