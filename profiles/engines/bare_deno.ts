/** A Deno that may do nothing but what its own pipes bring and take. */

/** What the operating system holds it to. */
export interface ProcessLimits {
  /** Of JavaScript, and as much again of WebAssembly. */
  heapMiB: number;
  /** Ends a process that outlived its parent inside an endless loop. */
  cpuSeconds: number;
}

/** What Deno asks the system for before anything runs: room for code, and a stack for each thread, of which it has up to 16. */
const reservedMiB = 560 + 8 * Math.min(navigator.hardwareConcurrency, 16);
/** How much of that it really takes; the rest is never touched. */
const startedMiB = 48;
/** One text alone may be longer than the heap: V8 counts it afterwards. */
const heaps = 2;

/** Most memory that a process may take, where the operating system can hold it to that. */
export function largestMiB({ heapMiB }: Pick<ProcessLimits, "heapMiB">): number {
  return startedMiB + heapMiB * heaps;
}

/** A page of WebAssembly's memory has 64 KiB. */
const pagesPerMiB = 16;

/** Five times what V8 waits for: what only starts, or renders a few profiles, is sooner done than optimised. */
const laterOptimised = "--wasm-tiering-budget=65000000";

/**
 * Starts the module without any permission. Memory outside the heap and processor time are the operating system's to
 * limit; where it cannot, the heap's limit and the parent's clock remain. Of the parent's environment passes only what
 * Deno needs to find its cache.
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
