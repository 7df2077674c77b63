/** Whether the system says what a process has used. */
export const isProcessorTimeTold = Deno.build.os === "linux";

/** Linux counts in hundredths of a second, whatever its kernel does. */
const tickMs = 10;

/** Where utime and stime stand behind the name, which may have any sign in it: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const [utime, stime] = [11, 12];

/**
 * What the first thread of a process has had of the processors since it began, in milliseconds; undefined when it is
 * gone. It is the one that runs JavaScript and WebAssembly; what V8 does beside it would count against a template even
 * where the clock does not. A shell reads it, as Deno lets nobody at /proc who may not do everything.
 */
export async function processorTimeOf(pid: number): Promise<number | undefined> {
  const args = ["-c", `read -r line < "/proc/$1/task/$1/stat" && echo "$line"`, "sh", String(pid)];
  const { stdout } = await new Deno.Command("/bin/sh", { args, stdin: "null", stderr: "null" }).output();
  const line = new TextDecoder().decode(stdout);
  const counts = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(counts[utime]) + Number(counts[stime]);
  return Number.isNaN(ticks) ? undefined : ticks * tickMs;
}
