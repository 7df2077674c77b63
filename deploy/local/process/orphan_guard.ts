import { type ChildProcess, spawn } from "node:child_process";

// Reads "+pid" and "-pid" lines. End of input means that the parent stopped or died: whatever is still listed then is
// ended, the youngest first, each with five seconds before SIGKILL goes to its whole group.
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

/** Ends the registered processes when this process goes away, however it goes: also by SIGKILL. */
export class OrphanGuard {
  #shell: ChildProcess | undefined;

  /** From now on `pid`, leader of its own process group, does not outlive us. */
  add(pid: number): void {
    this.#shell ??= startShell();
    this.#shell.stdin?.write(`+${pid}\n`);
  }

  /** `pid` has ended; its number may be used again by someone else. */
  remove(pid: number): void {
    this.#shell?.stdin?.write(`-${pid}\n`);
  }

  /** Resolves when the guard itself is gone, having ended whatever was still registered. */
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
  // Detached, so that the terminal's Ctrl-C, which goes to the whole foreground group, leaves the guard to its work.
  const shell = spawn("/bin/sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true, cwd: "/" });
  shell.on("error", () => {});
  shell.stdin?.on("error", () => {});
  shell.unref();
  return shell;
}
