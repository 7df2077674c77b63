/** A program to run until it exits. */
interface CommandOrder {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line of standard error. */
  readonly onLine?: (line: string) => void;
}

/** The result of a program; `lines` are the last lines of its standard error. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly lines: readonly string[];
}

const keptLines = 200;

/** Runs a program without a shell; when the signal aborts, kills its process group and throws the signal's reason. */
export async function runCommand(order: CommandOrder): Promise<CommandResult> {
  const { program, args, env, cwd, signal, onLine } = order;
  signal?.throwIfAborted();
  const child = new Deno.Command(program, {
    args: [...args],
    env: { ...env },
    clearEnv: true,
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // The program gets its own process group, so that compilers and linkers that it starts are killed as well.
    detached: true,
  }).spawn();
  const lines: string[] = [];
  const ended = Promise.all([child.status, new Response(child.stdout).text(), readLines(child.stderr, keep)]);
  function keep(line: string): void {
    if (lines.push(line) > keptLines) lines.shift();
    onLine?.(line);
  }
  const [status, stdout] = await orKill(child.pid, ended, signal);
  return { code: status.code, stdout, lines };
}

async function orKill<T>(pid: number, ended: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await ended;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => {
    killGroup(pid);
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort);
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([ended, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    ended.catch(() => {});
  }
}

function killGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch (error) {
    // The process has exited, or is a zombie that cannot be signaled on macOS.
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) throw error;
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onLine: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split(/\r?\n/);
    rest = parts.pop() ?? "";
    parts.forEach(onLine);
  }
  if (rest !== "") onLine(rest);
}
