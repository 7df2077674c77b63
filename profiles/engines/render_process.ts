import { type ProcessLimits, startBareDeno } from "./bare_deno.ts";
import { latenessOf, type Patience } from "./patience.ts";
import { RunawayFault, TemplateFault } from "./template_engine.ts";

/** What the operating system and the parent hold a process to. */
export interface RenderLimits extends ProcessLimits {
  /** By the clock. */
  startMs: number;
  /** Most bytes of an answer. */
  answerBytes: number;
}

/** The process ended before it answered. */
export class RenderProcessEnded extends Error {
  override readonly name = "RenderProcessEnded";
}

/** A fault tells what a template said, which may be as long as an answer. */
const longestFault = 1_000;

interface Answer {
  id: string;
  /** Processor time until it began with a request, in milliseconds. */
  usedMs?: number;
  texts?: string[];
  fault?: string;
  file?: string;
}

/** A Deno process without any permission that takes one JSON line and answers with one. */
export class RenderProcess {
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #limits: RenderLimits;
  #unread = "";
  #decoder = new TextDecoder();
  #isEnded = false;
  /** What it had used when it began with the request in hand; undefined until it does. */
  #usedBefore: number | undefined;

  private constructor(child: Deno.ChildProcess, limits: RenderLimits) {
    this.#child = child;
    this.#limits = limits;
    this.#reader = child.stdout.getReader();
    // A kept process must not keep its parent from ending.
    child.unref();
  }

  /** Starts the module, waits until it has announced that it is ready, and until it has taken the opening, if any. */
  static async start(module: URL, limits: RenderLimits, opening?: object): Promise<RenderProcess> {
    const process = new RenderProcess(startBareDeno(module, limits), limits);
    try {
      await process.#within({ limitMs: limits.startMs }, () => process.#answerTo("ready"));
      if (opening !== undefined) await process.ask(opening, { limitMs: limits.startMs });
      return process;
    } catch (error) {
      await process.stop();
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`Cannot start a process for templates: it did not get ready (${why})`, { cause: error });
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Sends one request; rejects with RenderTimeout, RenderProcessEnded, TemplateFault for what the template did,
   * RunawayFault when it does it without end, or the signal's reason. Only after a TemplateFault the process goes on.
   */
  async ask(request: object, patience: Patience): Promise<string[]> {
    patience.signal?.throwIfAborted();
    // The template never sees the id, so it cannot forge an answer, nor leave one for the next request.
    const id = crypto.randomUUID();
    this.#usedBefore = undefined;
    const { texts, fault, file } = await this.#within(patience, async () => {
      await this.#send(`${JSON.stringify({ id, ...request })}\n`);
      return await this.#answerTo(id);
    });
    if (texts === undefined) throw new TemplateFault(cut(fault ?? "it gave no text"), file);
    return texts;
  }

  /** Ends the process, whatever it is doing. */
  async stop(): Promise<void> {
    if (this.#isEnded) return void await this.#child.status;
    this.#isEnded = true;
    this.#child.ref();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It had ended by itself.
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
    const usedMs = isProcessorTimeTold ? (): Promise<number> => this.#usedMs() : undefined;
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

  /** Processor time for the request in hand; none as long as it has not begun, or nobody could look. */
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
    const words = this.#isEnded ? "" : await lastWords(this.#child.stderr);
    await this.stop();
    const { code, signal } = await this.#child.status;
    return new RenderProcessEnded(`${signal ?? `exit code ${code}`}${words && `, ${words}`}`);
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

/** The line in which a process that has ended says why, if it did. */
async function lastWords(stderr: ReadableStream<Uint8Array>): Promise<string> {
  const lines = (await new Response(stderr).text()).split("\n");
  const why = lines.find((line) => /out of memory|^error/i.test(line)) ?? "";
  return why.replace(/^#\s*|\s+$/g, "").slice(0, 200);
}

/** Whether the system says what a process has used. */
const isProcessorTimeTold = Deno.build.os === "linux";

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
