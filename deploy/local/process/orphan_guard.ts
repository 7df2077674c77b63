import { type ChildProcess, spawn } from "node:child_process";

// Reads "+pid" and "-pid" lines. At the end of input, which means that the parent stopped or died, the script ends all
// listed processes, the latest first, each with five seconds before SIGKILL of the whole process group.
const script = `
pids=
while read -r line; do
  pid=\${line#?}
  case $line in
    +*) pids="$pid $pids" ;;
    -*) kept=; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept $p"; done; pids=$kept ;;
  esac
done
for pid in $pids; do
  kill -s TERM "$pid" 2>/dev/null
  tries=0
  while kill -s 0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL -- "-$pid" 2>/dev/null
done
`;

/** Ends the registered processes when this process ends for any reason, including SIGKILL. */
export class OrphanGuard {
  #shell: ChildProcess | undefined;

  /** Registers `pid`, the leader of its own process group, so that it does not outlive this process. */
  add(pid: number): void {
    this.#shell ??= startShell();
    this.#shell.stdin?.write(`+${pid}\n`);
  }

  /** Unregisters `pid`, which has ended, because another process may reuse the number. */
  remove(pid: number): void {
    this.#shell?.stdin?.write(`-${pid}\n`);
  }

  /** Resolves when the guard has ended all registered processes and itself. */
  async close(): Promise<void> {
    const shell = this.#shell;
    this.#shell = undefined;
    if (shell === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
    const exited = new Promise((resolve) => shell.once("exit", resolve));
    shell.ref();
    shell.stdin?.end();
    await exited;
  }
}

function startShell(): ChildProcess {
  // Detached, so that Ctrl-C in the terminal, which signals the whole foreground process group, does not end the guard.
  const shell = spawn("/bin/sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true, cwd: "/" });
  shell.on("error", () => {});
  shell.stdin?.on("error", () => {});
  shell.unref();
  return shell;
}
