/** Starts Deno processes that have no permissions, and can use only their own pipes. */

/** The limits of a process that the operating system enforces. */
export interface ProcessLimits {
  /** Limit of the JavaScript heap in MiB; a WebAssembly memory has a separate limit of the same size. */
  heapMiB: number;
  /** Processor time after which a process is killed, in case it outlives its parent in an endless loop. */
  cpuSeconds: number;
}

/** The memory that Deno reserves at its start, for code and for the stacks of up to 16 threads. */
const reservedMiB = 560 + 8 * Math.min(navigator.hardwareConcurrency, 16);
/** The part of the reserved memory that Deno uses. */
const startedMiB = 48;
/** A process can use this multiple of its heap limit, because V8 counts a string only after it has been allocated. */
const heaps = 2;

/** Returns the most memory that a process can use, if the operating system enforces the limit. */
export function largestMiB({ heapMiB }: Pick<ProcessLimits, "heapMiB">): number {
  return startedMiB + heapMiB * heaps;
}

/** A page of WebAssembly's memory has 64 KiB. */
const pagesPerMiB = 16;

/** Optimises WebAssembly five times later than V8's default: a process that renders few profiles is then faster. */
const laterOptimised = "--wasm-tiering-budget=65000000";

/**
 * Starts the module without any permission. The operating system limits the processor time of the process, and its
 * memory including the memory outside V8's heap. On a system that cannot limit these, only V8's limit of the heap and
 * the time limits of the parent apply. The process gets only the environment variables that Deno needs to find its
 * cache.
 */
export function startBareDeno(module: URL, { heapMiB, cpuSeconds }: ProcessLimits): Deno.ChildProcess {
  const limits = [`ulimit -c 0`, `ulimit -t ${cpuSeconds}`, `ulimit -d ${(reservedMiB + heapMiB * heaps) * 1024}`];
  const passed = `\${HOME+"HOME=$HOME"} \${DENO_DIR+"DENO_DIR=$DENO_DIR"}`;
  const script = `{ ${limits.join("; ")}; } 2>/dev/null; exec env -i NO_COLOR=1 ${passed} "$@"`;
  const deno = [
    "run",
    "--no-prompt",
    "--cached-only",
    "--no-lock",
    "--node-modules-dir=manual",
    `--v8-flags=--max-old-space-size=${heapMiB},--wasm-max-mem-pages=${heapMiB * pagesPerMiB},${laterOptimised}`,
  ];
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", Deno.execPath(), ...deno, module.href],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}
