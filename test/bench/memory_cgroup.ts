/** A program within a memory limit, as the kernel enforces it for a pod: cgroup v1 or v2, as root. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

const [v1, v2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
const isV1 = existsSync(join(v1, "memory.limit_in_bytes"));
const root = isV1 ? v1 : v2;
const files = isV1
  ? { limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", events: "memory.oom_control" }
  : { limit: "memory.max", peak: "memory.peak", events: "memory.events" };

/** Why no memory limit can be set on this computer; undefined when it can be set. */
export const noLimitBecause = process.getuid?.() === 0 && (isV1 || existsSync(join(v2, "cgroup.controllers")))
  ? undefined
  : "memory limits need root and cgroups";

export interface Held {
  /** Maximum memory of all processes of the program together, including the kernel's page cache for them. */
  peakMiB: number;
  /** How many processes of the program the kernel killed for lack of memory. */
  killed: number;
  code: number;
  text: string;
}

/** Runs a program and its child processes within this memory limit. */
export async function runWithin(
  limitMiB: number,
  { args, env }: { args: string[]; env: Record<string, string> },
): Promise<Held> {
  const folder = join(root, `ostler-bench-${process.pid}-${performance.now().toFixed(0)}`);
  await mkdir(folder);
  try {
    await writeFile(join(folder, files.limit), `${limitMiB * 2 ** 20}`);
    const script = `echo $$ >${folder}/cgroup.procs && exec "$@"`;
    const command = new Deno.Command("/bin/sh", { args: ["-c", script, "sh", Deno.execPath(), ...args], env });
    const { code, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    const peak = Number(await readFile(join(folder, files.peak), "utf8"));
    const [, killed = "0"] = /^oom_kill (\d+)$/m.exec(await readFile(join(folder, files.events), "utf8")) ?? [];
    return {
      peakMiB: peak / 2 ** 20,
      killed: Number(killed),
      code,
      text: decoder.decode(stdout) + decoder.decode(stderr),
    };
  } finally {
    await rmdir(folder).catch(() => undefined); // fails while a process of the group is still ending
  }
}
