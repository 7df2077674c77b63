/** The child's end of RenderProcess: lines of JSON in and out, synchronous, so nothing of a template runs on in between. */
// Taken before a template can change or hide them.
const read = Deno.stdin.readSync.bind(Deno.stdin);
const write = Deno.stdout.writeSync.bind(Deno.stdout);
// Node has it since 23.9, its types not yet.
const { threadCpuUsage } = process as typeof process & { threadCpuUsage(): NodeJS.CpuUsage };
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const buffer = new Uint8Array(64 * 1024);

/**
 * Announces that the process is ready, then answers each line with one, until there are no more; before it begins with
 * one it says how much processor time this thread has had until then, in milliseconds.
 */
export function answerLines(answer: (line: string) => string): void {
  say(`{"id":"ready"}`);
  let parts: string[] = [];
  for (let size = read(buffer); size !== null; size = read(buffer)) {
    const [first = "", ...lines] = decoder.decode(buffer.subarray(0, size), { stream: true }).split("\n");
    parts.push(first);
    for (const line of lines) {
      const { user, system } = threadCpuUsage();
      say(`{"id":"begun","usedMs":${(user + system) / 1000}}`);
      say(answer(parts.join("")));
      parts = [line];
    }
  }
}

function say(line: string): void {
  let bytes = encoder.encode(`${line}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(write(bytes));
}
