import { type ProcessLimits, startBareDeno } from "./bare_deno.ts";
import { latenessOf, type Patience } from "./patience.ts";
import { RunawayFault, TemplateFault } from "./template_engine.ts";

/** The limits of a process that the operating system and the parent enforce. */
export interface RenderLimits extends ProcessLimits {
  /** Milliseconds, by the clock, in which the process must have started. */
  startMs: number;
  /** The maximum size of an answer in bytes. */
  answerBytes: number;
}

/** Thrown if the process ended before it answered. */
export class RenderProcessEnded extends Error {
  override readonly name = "RenderProcessEnded";
}

/** Maximum characters of a fault: a template can throw a message that is as long as a whole answer. */
const longestFault = 1_000;

interface Answer {
  id: string;
  /** Processor time used before the process began the request, in milliseconds. */
  usedMs?: number;
  texts?: string[];
  fault?: string;
  file?: string;
}

/** A Deno process without any permission that answers each line of JSON with one line of JSON. */
export class RenderProcess {
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #limits: RenderLimits;
  #unread = "";
  #decoder = new TextDecoder();
  #isEnded = false;
  /** The processor time used before the current request, in milliseconds; undefined until the process begins it. */
  #usedBefore: number | undefined;

  private constructor(child: Deno.ChildProcess, limits: RenderLimits) {
    this.#child = child;
    this.#limits = limits;
    this.#reader = child.stdout.getReader();
    // A kept process must not prevent its parent from exiting.
    child.unref();
  }

  /** Starts the module and waits until it has announced that it is ready and has answered the opening, if any. */
  static async start(module: URL, limits: RenderLimits, opening?: object): Promise<RenderProcess> {
    const process = new RenderProcess(startBareDeno(module, limits), limits);
    try {
      await process.#within({ limitMs: limits.startMs }, () => process.#answerTo("ready"));
      if (opening !== undefined) await process.ask(opening, { limitMs: limits.startMs });
      return process;
    } catch (error) {
      await process.stop();
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`Failed to start a template process: it did not become ready (${why})`, { cause: error });
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Sends one request and returns the texts. Rejects with TemplateFault if a template fails, RunawayFault if it exceeds
   * a limit, RenderTimeout, RenderProcessEnded, or the reason of the signal. The process survives only a TemplateFault.
   */
  async ask(request: object, patience: Patience): Promise<string[]> {
    patience.signal?.throwIfAborted();
    // The template never sees the id, so it cannot forge an answer to this request or to the next one.
    const id = crypto.randomUUID();
    this.#usedBefore = undefined;
    const { texts, fault, file } = await this.#within(patience, async () => {
      await this.#send(`${JSON.stringify({ id, ...request })}\n`);
      return await this.#answerTo(id);
    });
    if (texts === undefined) throw new TemplateFault(cut(fault ?? "it returned no text"), file);
    return texts;
  }

  /** Kills the process. */
  async stop(): Promise<void> {
    if (this.#isEnded) return void await this.#child.status;
    this.#isEnded = true;
    this.#child.ref();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // The process has already ended.
    }
    await Promise.allSettled([
      this.#reader.cancel(),
      this.#child.stdin.abort(),
      this.#child.stderr.locked ? undefined : this.#child.stderr.cancel(),
      this.#child.status,
    ]);
  }

  async #within<T>({ signal, ...limits }: Patience, work: () => Promise<T>): Promise<T> {
    let late: Error | undefined;
    const done = new AbortController();
    const stop = (): void => void this.stop();
    const usedMs = isProcessorTimeKnown ? (): Promise<number> => this.#usedMs() : undefined;
    const watch = latenessOf(limits, usedMs, done.signal).then((found) => {
      late = found;
      if (found !== undefined) stop();
    });
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw late ?? error;
    } finally {
      done.abort();
      signal?.removeEventListener("abort", stop);
      await watch;
    }
  }

  /** Returns the processor time of the current request in milliseconds; 0 if it has not begun or cannot be measured. */
  async #usedMs(): Promise<number> {
    const all = await processorTimeOf(this.#child.pid).catch(() => undefined) ?? 0;
    return all - (this.#usedBefore ?? all);
  }

  async #send(line: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    try {
      await writer.write(new TextEncoder().encode(line));
    } catch {
      throw await this.#ended();
    } finally {
      writer.releaseLock();
    }
  }

  async #answerTo(id: string): Promise<Answer> {
    for (let bytes = 0; bytes <= this.#limits.answerBytes;) {
      const end = this.#unread.indexOf("\n");
      if (end >= 0) {
        const answer = parseAnswer(this.#unread.slice(0, end));
        this.#unread = this.#unread.slice(end + 1);
        if (answer?.id === id) return answer;
        if (answer?.id === "begun") this.#usedBefore = answer.usedMs;
        continue;
      }
      const { value, done } = await this.#reader.read();
      if (done) throw await this.#ended();
      bytes += value.length;
      this.#unread += this.#decoder.decode(value, { stream: true });
    }
    await this.stop();
    throw new RunawayFault(`it made more than ${this.#limits.answerBytes} bytes`);
  }

  async #ended(): Promise<Error> {
    const cause = this.#isEnded ? "" : await causeIn(this.#child.stderr);
    await this.stop();
    const { code, signal } = await this.#child.status;
    return new RenderProcessEnded(`${signal ?? `exit code ${code}`}${cause && `, ${cause}`}`);
  }
}

function parseAnswer(line: string): Answer | undefined {
  try {
    return JSON.parse(line) as Answer | null ?? undefined;
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return text.length > longestFault ? `${text.slice(0, longestFault)}…` : text;
}

/**
 * Returns the line of the error output that has the cause of the end, at most 200 characters; empty if there is none.
 */
async function causeIn(stderr: ReadableStream<Uint8Array>): Promise<string> {
  const lines = (await new Response(stderr).text()).split("\n");
  const why = lines.find((line) => /out of memory|^error/i.test(line)) ?? "";
  return why.replace(/^#\s*|\s+$/g, "").slice(0, 200);
}

/** Whether the system reports the processor time of a process. */
const isProcessorTimeKnown = Deno.build.os === "linux";

/** Linux reports processor time in hundredths of a second, independent of the kernel's timer. */
const tickMs = 10;

/**
 * Positions of the fields utime and stime, counted after the process name, because the name can contain any character:
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
const [utime, stime] = [11, 12];

/**
 * Returns the processor time that the first thread of a process has used since its start, in milliseconds; undefined if
 * the process is gone. This thread runs JavaScript and WebAssembly; V8's other threads must not count against a
 * template. A shell reads the file, because Deno allows access to /proc only with all permissions.
 */
export async function processorTimeOf(pid: number): Promise<number | undefined> {
  const args = ["-c", `read -r line < "/proc/$1/task/$1/stat" && echo "$line"`, "sh", String(pid)];
  const { stdout } = await new Deno.Command("/bin/sh", { args, stdin: "null", stderr: "null" }).output();
  const line = new TextDecoder().decode(stdout);
  const counts = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(counts[utime]) + Number(counts[stime]);
  return Number.isNaN(ticks) ? undefined : ticks * tickMs;
}
