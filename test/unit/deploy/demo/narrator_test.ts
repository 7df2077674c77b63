import assert from "node:assert/strict";
import { PlainNarrator } from "../../../../deploy/local/demo/narrator.ts";
import { ToolLines } from "../../../../deploy/local/demo/demo.ts";

function narrate(): { written: string[]; narrator: PlainNarrator } {
  const written: string[] = [];
  return { written, narrator: new PlainNarrator((text) => void written.push(text), () => 12.34) };
}

Deno.test("PlainNarrator: writes a line when its text is new or changed, without the seconds that change all the time", () => {
  const { written, narrator } = narrate();
  narrator.show([{ key: "a", text: "a boots", aside: " 1 s" }]);
  narrator.show([{ key: "a", text: "a boots", aside: " 2 s" }, { key: "b", text: "b boots" }]);
  narrator.show([{ key: "a", text: "a is Ready" }, { key: "b", text: "b boots" }]);
  assert.deepEqual(written, ["  12.3 s  a boots", "  12.3 s  b boots", "  12.3 s  a is Ready"]);
});

Deno.test("PlainNarrator: writes an equal line again after settle()", () => {
  const { written, narrator } = narrate();
  narrator.show([{ key: "a", text: "a boots" }]);
  narrator.settle();
  narrator.say("next");
  narrator.show([{ key: "a", text: "a boots" }]);
  assert.equal(written.length, 3);
});

Deno.test("ToolLines: keeps one line per tool, and shows changing build output only in the aside of the line", () => {
  const lines = new ToolLines();
  lines.take({ tool: "etcd", state: "found", detail: "in the cache: /x", seconds: 0 });
  const [, first] = lines.take({ tool: "tctl", state: "building", detail: "go: downloading a", seconds: 1 });
  const [, second] = lines.take({ tool: "tctl", state: "building", detail: "go: downloading b", seconds: 2 });
  assert.equal(first?.text, second?.text);
  assert.notEqual(first?.aside, second?.aside);
});
