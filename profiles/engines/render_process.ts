import { RunawayFault, TemplateFault } from "./template_engine.ts";

/** What the operating system and the parent hold a process to. */
export interface RenderLimits {
  startMs: number;
  /** Of JavaScript, and as much again of WebAssembly. */
  heapMiB: number;
  /** Most bytes of an answer. */
  answerBytes: number;
  /** Ends a process that outlived its parent inside an endless loop. */
  cpuSeconds: number;
}

/** The process ended before it answered. */
export class RenderProcessEnded extends Error {
  override readonly name = "RenderProcessEnded";
}

/** How long an answer may take: its limit, and when nobody wants it any more. */
export interface Patience {
  limitMs: number;
  signal?: AbortSignal | undefined;
}

/** A fault tells what a template said, which may be as long as an answer. */
const longestFault = 1_000;

/** No answer came in time; the process was killed. */
export class RenderTimeout extends Error {
  override readonly name = "RenderTimeout";
}

interface Answer {
  id: string;
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

  private constructor(child: Deno.ChildProcess, limits: RenderLimits) {
    this.#child = child;
    this.#limits = limits;
    this.#reader = child.stdout.getReader();
    // A kept process must not keep its parent from ending.
    child.unref();
  }

  /** Starts the module, waits until it has announced that it is ready, and until it has taken the opening, if any. */
  static async start(module: URL, limits: RenderLimits, opening?: object): Promise<RenderProcess> {
    const process = new RenderProcess(spawn(module, limits), limits);
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
   * Sends one request; rejects with RenderTimeout, RenderProcessEnded, TemplateFault for what the template did, or the
   * signal's reason. The process has ended after the first two and the last.
   */
  async ask(request: object, patience: Patience): Promise<string[]> {
    patience.signal?.throwIfAborted();
    // The template never sees the id, so it cannot forge an answer, nor leave one for the next request.
    const id = crypto.randomUUID();
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

  async #within<T>({ limitMs, signal }: Patience, work: () => Promise<T>): Promise<T> {
    let isLate = false;
    const stop = (): void => void this.stop();
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, limitMs);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw isLate ? new RenderTimeout(`Cannot wait longer than ${limitMs} ms`) : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
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
        const answer = parseAnswer(this.#unread.slice(0, end), id);
        this.#unread = this.#unread.slice(end + 1);
        if (answer !== undefined) return answer;
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

/** A page of WebAssembly's memory has 64 KiB. */
const pagesPerMiB = 16;

// Memory outside the heap and processor time are the operating system's to limit; where it cannot, the heap's limit and
// the parent's clock remain. Of the parent's environment passes only what Deno needs to find its cache.
function spawn(module: URL, { heapMiB, cpuSeconds }: RenderLimits): Deno.ChildProcess {
  const limits = [`ulimit -c 0`, `ulimit -t ${cpuSeconds}`, `ulimit -d ${(heapMiB * 4 + 1024) * 1024}`];
  const passed = `\${HOME+"HOME=$HOME"} \${DENO_DIR+"DENO_DIR=$DENO_DIR"}`;
  const script = `{ ${limits.join("; ")}; } 2>/dev/null; exec env -i NO_COLOR=1 ${passed} "$@"`;
  const deno = [
    "run",
    "--no-prompt",
    "--cached-only",
    "--no-lock",
    "--node-modules-dir=manual",
    `--v8-flags=--max-old-space-size=${heapMiB},--wasm-max-mem-pages=${heapMiB * pagesPerMiB}`,
  ];
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", Deno.execPath(), ...deno, module.href],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

function parseAnswer(line: string, id: string): Answer | undefined {
  try {
    const answer = JSON.parse(line) as Answer | null;
    return answer?.id === id ? answer : undefined;
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
