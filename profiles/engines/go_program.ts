interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  accept(size: number): number;
  render(): number;
  answer(): number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Runs the Go program of go/ without files, environment, real clock and random numbers.
 * A call that throws ends the program: it cannot be called again.
 */
export class GoProgram {
  readonly #exports: Exports;

  constructor(wasm: Uint8Array) {
    const host = hostOf(() => this.#exports.memory.buffer);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm as BufferSource), {
      wasi_snapshot_preview1: host,
    });
    this.#exports = exports as unknown as Exports;
    this.#exports._initialize();
  }

  /** Sends one request, a line of JSON, and returns the answer, also a line of JSON. */
  call(request: string): string {
    const { memory, accept, render, answer } = this.#exports;
    const bytes = encoder.encode(request);
    // No variable keeps `memory.buffer`, because a call can grow Go's memory, which then has a new buffer.
    const place = accept(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    const size = render() >>> 0;
    return decoder.decode(new Uint8Array(memory.buffer, answer() >>> 0, size));
  }
}

const ok = 0;
const unknownDescriptor = 8;
const standardError = 2;
const realTime = 0;

/**
 * Returns the functions of WASI that the Go program needs; all others return an error, because there are no files.
 * https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
 */
function hostOf(memory: () => ArrayBufferLike): WebAssembly.ModuleImports {
  const view = (): DataView => new DataView(memory());
  let nanoseconds = 0n;
  const none = (count: number, bytes: number): number => {
    view().setUint32(count, 0, true);
    view().setUint32(bytes, 0, true);
    return ok;
  };
  const host: WebAssembly.ModuleImports = {
    args_get: () => ok,
    args_sizes_get: none,
    environ_get: () => ok,
    environ_sizes_get: none,
    sched_yield: () => ok,
    poll_oneoff: () => ok,
    // The buffer is not filled, because the program derives the random values of templates from a seed.
    random_get: () => ok,
    clock_time_get(clock: number, _precision: bigint, time: number): number {
      // Only the monotonic clock advances, for the garbage collector.
      view().setBigUint64(time, clock === realTime ? 0n : nanoseconds += 1_000n, true);
      return ok;
    },
    fd_write(...[descriptor, pieces, count, written]: [number, number, number, number]): number {
      if (descriptor !== standardError) return unknownDescriptor;
      view().setUint32(written, writeError(memory(), pieces, count), true);
      return ok;
    },
    proc_exit(code: number): never {
      throw new Error(`the Go program exited with code ${code}`);
    },
  };
  return new Proxy(host, { get: (target, name: string) => target[name] ?? ((): number => unknownDescriptor) });
}

/**
 * Copies Go's error output to standard error, which the parent process reads after this process has ended; returns the
 * number of bytes.
 */
function writeError(memory: ArrayBufferLike, pieces: number, count: number): number {
  const table = new Uint32Array(memory.slice(pieces, pieces + count * 8));
  let written = 0;
  for (let index = 0; index < table.length; index += 2) {
    const [start = 0, size = 0] = table.subarray(index, index + 2);
    Deno.stderr.writeSync(new Uint8Array(memory, start, size));
    written += size;
  }
  return written;
}
