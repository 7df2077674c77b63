import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { askOn } from "../../../cli/terminal.ts";

/** Returns the answer after these keys, and the text on the terminal; if `keys` is undefined, the input ends. */
async function asked(keys: string | undefined, terminal: boolean): Promise<{ answer: string; shown: string }> {
  let written = "";
  const input = new PassThrough();
  const output = new Writable({ write: (text, _, done) => (written += text, done()) });
  const answering = askOn({ input, output, terminal }, "Abort? [y/N] ");
  if (keys === undefined) input.end();
  else input.write(keys);
  const answer = await answering;
  // deno-lint-ignore no-control-regex -- readline moves the cursor with these
  return { answer, shown: written.replaceAll(/\x1b\[\d+[A-Z]/g, "") };
}

Deno.test("askOn: returns the typed line", async () => {
  assert.deepEqual(await asked("yes\n", false), { answer: "yes", shown: "Abort? [y/N] " });
  assert.equal((await asked("yes\r", true)).answer, "yes");
});

Deno.test("askOn: returns an empty line for Ctrl-C, Ctrl-D and the end of the input", async () => {
  const left = { answer: "", shown: "Abort? [y/N] \n" };
  assert.deepEqual(await asked("\x03", true), left);
  assert.deepEqual(await asked("\x04", true), left);
  assert.deepEqual(await asked(undefined, false), left);
});
