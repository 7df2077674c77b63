/** The linter for plain English. Its examples are in a YAML file, because the linter would report them in this file. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import plugin from "../house_rules.ts";
import { documents, findInDocument, findInDocuments, listFiles, root, toLine } from "../words/documents.ts";
import { findWords } from "../words/find_words.ts";
import { glossary, type Place } from "../words/glossary.ts";

/** A word of the glossary. */
const word = "victim";
const instead = "machine to be replaced";

const wordsOf = (text: string, place: Place = "comment"): string[] =>
  findWords({ at: 0, text, place }).map(({ words }) => words);

const inDocument = (file: string, source: string): string[] => findInDocument(file, source).map(toLine);

/** Runs the lint rule on a file; returns each finding as its text, words and hint. */
function lint(code: string, file = "workers/file.ts"): string[] {
  return Deno.lint.runPlugin(plugin, file, code).filter(({ id }) => id === "house/plain-english")
    .map(({ range, message, hint }) => `${code.slice(...range)} | ${message} | ${hint}`);
}

const finding = `${word} | "${word}" is not plain English | Write: ${instead}`;

const examples: [string, string][] = parse(
  await readFile(new URL("../words/examples.yaml", import.meta.url), "utf8"),
);

Deno.test("glossary: each row has a finding in its first example, and none in its second example", () => {
  assert.equal(examples.length, glossary.length);
  for (const [at, { instead, places: [place = "comment"] = [] }] of glossary.entries()) {
    const [finds = "", leaves = ""] = examples[at] ?? [];
    const found = findWords({ at: 0, text: finds, place });
    assert.ok(found.some((it) => it.instead === instead), `"${finds}" does not need: ${instead}`);
    assert.deepEqual(wordsOf(leaves, place), [], leaves);
  }
});

Deno.test("glossary: a row with places applies only in these places", () => {
  const counted = (["message", "comment", "markdown", "description"] as const)
    .filter((place) => wordsOf(`Installs ${"kinds"} first.`, place).length > 0);
  assert.deepEqual(counted, ["markdown", "description"]);
});

Deno.test("findWords: finds a sentence of more than 40 words", () => {
  const sentence = (count: number): string => `One${" more".repeat(count - 1)}.`;
  assert.deepEqual(wordsOf(`${sentence(40)} ${sentence(40)}`), []);
  assert.deepEqual(wordsOf(`${sentence(40)} ${sentence(41)}`), ["One more more more more"]);
  assert.deepEqual(wordsOf(`\`code\` ${sentence(40)}`), ["`code` One more more more"]);
});

Deno.test("findWords: ignores code spans, quotes, identifiers, paths and links", () => {
  const text = [
    "`#`",
    '"the #"',
    "'#'",
    "#.name",
    "pods.#",
    "#()",
    "a/#",
    "#_name",
    "my-#",
    "[link](#)",
    "https://x/#",
  ];
  for (const each of text) assert.deepEqual(wordsOf(`Reads ${each.replace("#", word)} first.`), [], each);
  assert.deepEqual(wordsOf(`Reads the ${word}, first.`), [word]);
});

Deno.test("plain-english: finds words in comments, strings and templates", () => {
  assert.deepEqual(lint(`/** Drains\n * the ${word}. */`), [finding]);
  assert.deepEqual(lint(`// Drains the\n// ${word}.`), [finding]);
  assert.deepEqual(lint(`export const text = "Drains the ${word}";`), [finding]);
  assert.deepEqual(lint(`export const text = \`Drains the ${word} of \${pool}\`;`), [finding]);
});

Deno.test("plain-english: finds words across lines of a comment, and a clause only at the start of a sentence", () => {
  const found = lint(`// The ${"way"}\n// back. ${"What"} was read: what is new.`);
  assert.deepEqual(
    found.map((each) => each.split(" | ")[1]),
    ["way back", "What"].map((it) => `"${it}" is not plain English`),
  );
});

Deno.test("plain-english: ignores code, short strings and copies of other code", () => {
  assert.deepEqual(lint(`const ${word} = pool.${word}; export default \`of \${${word}} it is\`;`), []);
  assert.deepEqual(lint(`export const kind = "${word}";`), []);
  assert.deepEqual(lint(`// Drains the ${word}.`, "test/planted/faults.ts"), []);
});

Deno.test("findInDocument: names file, line, words and replacement in Markdown, but not in code", () => {
  const source = `# The title\n\nText \`${word}\`.\n\n\`\`\`\nthe ${word}\n\`\`\`\n\n| a | the ${word} |\n`;
  assert.deepEqual(inDocument("docs/a.md", source), [
    `docs/a.md:9: "${word}" is not plain English; write: ${instead}`,
  ]);
});

Deno.test("findInDocument: treats headings, items and cells as sentences", () => {
  const items = Array.from({ length: 50 }, (_, at) => `- item ${at}\n`).join("");
  assert.deepEqual(inDocument("a.md", `# ${"What"} it does\n${items}\n| ${"a | ".repeat(50)}\n`), []);
});

Deno.test("findInDocument: finds words in descriptions, messages and comments of YAML, but not in other values", () => {
  const source = [
    `name: the ${word}`,
    `# The ${word}`,
    "spec:",
    "  description: >-",
    "    One line,",
    `    a ${word}.`,
    `  x: { message: "a ${word}", pattern: a ${word} }`,
  ];
  const found = findInDocument("a.yaml", source.join("\n"));
  assert.deepEqual(found.map(({ line }) => line).toSorted(), [2, 6, 7]);
});

Deno.test("words: Markdown and YAML are plain English", () => {
  assert.deepEqual(findInDocuments(listFiles(documents)).map(toLine), []);
});

Deno.test("words: prints findings as JSON, and fails for them only with --strict", () => {
  const run = (...args: string[]): { code: number; found: { file: string }[] } => {
    const command = ["run", "--allow-read", "--allow-env", "--allow-run", "test/words/main.ts", "-o", "json", ...args];
    const { code, stdout } = new Deno.Command(Deno.execPath(), { args: command, cwd: root }).outputSync();
    return { code, found: JSON.parse(new TextDecoder().decode(stdout)) };
  };
  assert.deepEqual(run("--strict", "test/words/main.ts", "docs/README.md"), { code: 0, found: [] });
  // If no document has a finding, there is nothing on which --strict could fail.
  const file = listFiles(documents).find((each) => findInDocuments([each]).length > 0);
  if (file === undefined) return;
  const { code, found } = run(file);
  assert.equal(code, 0);
  assert.ok(found.every((each) => each.file === file) && found.length > 0);
  assert.equal(run("--strict", file).code, 1);
});
