/**
 * The part of RenderProcess that runs in the child process: reads and writes lines of JSON, synchronously, so that no
 * code of a template runs in between.
 */
// Both functions are bound before a template can change or hide them.
const read = Deno.stdin.readSync.bind(Deno.stdin);
const write = Deno.stdout.writeSync.bind(Deno.stdout);
// Node has this function since 23.9, but its types do not.
const { threadCpuUsage } = process as typeof process & { threadCpuUsage(): NodeJS.CpuUsage };
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const buffer = new Uint8Array(64 * 1024);

/**
 * Announces that the process is ready, then answers each line with one line until the input ends. Before each answer it
 * reports the processor time that this thread has used so far, in milliseconds.
 */
export function answerLines(answer: (line: string) => string): void {
  writeLine(`{"id":"ready"}`);
  let parts: string[] = [];
  for (let size = read(buffer); size !== null; size = read(buffer)) {
    const [first = "", ...lines] = decoder.decode(buffer.subarray(0, size), { stream: true }).split("\n");
    parts.push(first);
    for (const line of lines) {
      const { user, system } = threadCpuUsage();
      writeLine(`{"id":"begun","usedMs":${(user + system) / 1000}}`);
      writeLine(answer(parts.join("")));
      parts = [line];
    }
  }
}

function writeLine(line: string): void {
  let bytes = encoder.encode(`${line}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(write(bytes));
}
