import assert from "node:assert/strict";
import { styleText } from "node:util";
import { cutLine, fitted } from "../../../../cli/view/live_frame.ts";

const red = (text: string): string => styleText("red", text, { validateStream: false });

Deno.test("cutLine: cuts after a number of visible characters, and ends the color that it cuts off", () => {
  assert.equal(cutLine("12345", 5), "12345");
  assert.equal(cutLine("123456", 5), "1234…");
  assert.equal(cutLine(red("12345"), 5), red("12345"));
  assert.equal(cutLine(`${red("12345")}6`, 5), red("1234…"));
  assert.equal(cutLine(`1234${red("56")}7`, 5), `1234…${red("")}`);
});

Deno.test("fitted: keeps long lines whole if all rows fit on the screen; otherwise cuts each line, and drops the last lines", () => {
  const lines = ["123456789", "b", "c"];
  assert.deepEqual(fitted(lines, { columns: 5, rows: 5 }), lines);
  assert.deepEqual(fitted(lines, { columns: 5, rows: 4 }), ["1234…", "b", "c"]);
  assert.deepEqual(fitted(lines, { columns: 5, rows: 3 }), ["1234…", "b"]);
});
