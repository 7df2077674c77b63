import assert from "node:assert/strict";
import { parseObjects, placeText } from "../../../cli/yaml_file.ts";

Deno.test("parseObjects: reads numbers, booleans and dates as kubectl does", () => {
  const [object] = parseObjects("x.yaml", "mode: 0644\nwanted: yes\nday: 2001-01-01\ntime: 1:30\nword: no way\n");
  assert.deepEqual(object?.value, { mode: 420, wanted: true, day: "2001-01-01", time: "1:30", word: "no way" });
});

Deno.test("parseObjects: returns every object with its file and line, also the items of a List", () => {
  const text = "# nothing\n---\nkind: A\n---\nkind: List\nitems:\n- kind: B\n  spec: { x: 1 }\n---\n";
  const objects = parseObjects("x.yaml", text);
  assert.deepEqual(objects.map(({ kind }) => kind), ["A", "B"]);
  assert.equal(placeText(objects[0]!.placeOf([])), "x.yaml:3");
  assert.equal(placeText(objects[1]!.placeOf(["spec", "x"])), "x.yaml:8");
  assert.equal(placeText(objects[1]!.placeOf(["spec", "gone", "deeper"])), "x.yaml:8");
});

Deno.test("parseObjects: locates a line inside a literal block, but only the first line of a quoted or folded text", () => {
  const [object] = parseObjects("x.yaml", "a: |\n  one\n  two\nb: 'one\n\n  two'\nc: >-\n  one\n  two\n");
  assert.deepEqual(object?.placeOfLine(["a"], 2), { file: "x.yaml", line: 3 });
  assert.deepEqual(object?.placeOfLine(["b"], 2), { file: "x.yaml", line: 4 });
  assert.deepEqual(object?.placeOfLine(["c"], 2), { file: "x.yaml", line: 7 });
});

Deno.test("parseObjects: names file and line of invalid YAML, and refuses aliases that expand without limit", () => {
  assert.throws(() => parseObjects("x.yaml", "a: 1\nb: [\n"), /^UsageError: x\.yaml:3: Failed to read YAML: /);
  assert.throws(
    () => parseObjects("x.yaml", "a: 1\na: 2\n"),
    /^UsageError: x\.yaml:2: Failed to read YAML: Map keys must be unique$/,
  );
  const level = (name: string, other: string): string =>
    `${name}: &${name} [${Array(9).fill(`*${other}`).join(", ")}]\n`;
  const bomb = `a: &a [${Array(9).fill("x").join(", ")}]\n` + level("b", "a") + level("c", "b") + level("d", "c") +
    level("e", "d");
  assert.throws(() => parseObjects("x.yaml", bomb), /Failed to read YAML: .*alias/);
});

Deno.test("parseObjects: refuses excessive nesting before it builds the objects", () => {
  const deep = ["[".repeat(100_000), "- ".repeat(100_000), `${"{ a: ".repeat(300)}1${" }".repeat(300)}`];
  for (const text of deep) {
    assert.throws(() => parseObjects("x.yaml", `a: 1\nb:\n ${text}`), {
      message: "x.yaml:3: Failed to read YAML: it is nested too deeply",
    });
  }
  const allowed = `${"[".repeat(90)}${"]".repeat(90)}`;
  assert.equal(parseObjects("x.yaml", `a: ${allowed}`).length, 1);
});
