/** What machines share with this host, as far as it changes how their kubelets have to be set up. */
import process from "node:process";
import { lacksSysResource } from "../engine/runtime_wrapper.ts";
import { runCommand } from "../tools/run_command.ts";

export interface HostFacts {
  /** Of cgroup v2 alone; else kubelets have to be told that v1 will do. */
  hasCgroupV2: boolean;
  /** No process can be given CAP_SYS_RESOURCE, so none can lower an OOM score. */
  lacksSysResource: boolean;
}

/** Asks in a child: Deno itself reads neither /proc nor /sys without every permission there is. */
export async function hostFacts(): Promise<HostFacts> {
  const [filesystem, status] = await Promise.all([
    output("stat", ["--file-system", "--format=%T", "/sys/fs/cgroup"]),
    output("cat", ["/proc/self/status"]),
  ]);
  return { hasCgroupV2: filesystem.trim() === "cgroup2fs", lacksSysResource: lacksSysResource(status) };
}

async function output(program: string, args: string[]): Promise<string> {
  const { code, stdout, lines } = await runCommand({ program, args, env: { PATH: process.env.PATH ?? "" } });
  if (code !== 0) throw new Error(`Cannot look at this host: "${program}" ended with ${code}: ${lines.at(-1) ?? ""}`);
  return stdout;
}
