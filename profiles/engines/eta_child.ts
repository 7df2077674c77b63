/** The process that renders: JSON lines in and out, synchronous from end to end, so nothing of a template runs on between. */
import { renderStrictly } from "./eta_render.ts";
import { hideGlobals } from "./hidden_globals.ts";

const { stdin, stdout } = Deno;
const read = stdin.readSync.bind(stdin);
const write = stdout.writeSync.bind(stdout);
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const buffer = new Uint8Array(64 * 1024);
const { parse, stringify } = JSON;

function say(answer: object): void {
  let bytes = encoder.encode(`${stringify(answer)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(write(bytes));
}

function answer(line: string): void {
  const { id, name, template, snippets, data } = parse(line);
  try {
    say({ id, text: renderStrictly({ name, template, snippets, data }) });
  } catch (error) {
    say({ id, fault: error instanceof Error ? error.message : "it threw what is no error" });
  }
}

hideGlobals();
say({ id: "ready" });
let unread = "";
for (let size = read(buffer); size !== null; size = read(buffer)) {
  unread += decoder.decode(buffer.subarray(0, size), { stream: true });
  for (let end = unread.indexOf("\n"); end >= 0; end = unread.indexOf("\n")) {
    answer(unread.slice(0, end));
    unread = unread.slice(end + 1);
  }
}
