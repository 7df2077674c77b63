import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isScalar, parseAllDocuments, visit } from "yaml";
import { blank, findWords, type Prose } from "./find_words.ts";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Words of a file that are not plain English, with their line, which counts from 1. */
export interface Found {
  file: string;
  line: number;
  words: string;
  instead: string;
}

/** Returns the finding as a line for people. */
export function toLine({ file, line, words, instead }: Found): string {
  return `${file}:${line}: "${words}" is not plain English; write: ${instead}`;
}

/** Pathspecs of the Markdown and YAML files to check, without the manifests of other projects. */
export const documents = [
  "*.md",
  "deploy/*.yaml",
  "deploy/*.schema.json",
  "examples/*.yaml",
  ":!deploy/local/manifests/",
];

/** Lists the files of the repository that match pathspecs of git. */
export function listFiles(pathspecs: readonly string[]): string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...pathspecs];
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0").filter((file) => file !== "");
}

/** Finds words that are not plain English in Markdown and YAML files of the repository. */
export function findInDocuments(files: readonly string[]): Found[] {
  return files.flatMap((file) => findInDocument(file, readFileSync(root + file, "utf8")));
}

/** Finds words that are not plain English in `source`, which is Markdown if the name ends in .md, and else YAML. */
export function findInDocument(file: string, source: string): Found[] {
  return (file.endsWith(".md") ? markdown(source) : yaml(source)).flatMap(findWords)
    .map(({ at, ...found }) => ({ file, line: source.slice(0, at).split("\n").length, ...found }));
}

/** Removes code, which is not prose; a heading, a list item and a cell of a table count as sentences. */
function markdown(source: string): Prose[] {
  const text = blank(source, [/^( *)```[^]*?^\1```/gm, /<!--[^]*?-->/g, /<[^>\n]*>/g])
    .replace(/^ *(?:[-*+]|\d+\.) |^>+|\||\n(?=#)|(?<=^#.*)\n/gm, (mark) => "\f".padStart(mark.length));
  return [{ at: 0, text, place: "markdown" }];
}

/** Returns the values of fields that a person reads, and the comments that have their own line. */
function yaml(source: string): Prose[] {
  const texts: Prose[] = [];
  for (const document of parseAllDocuments(source, { logLevel: "silent" })) {
    visit(document, {
      Pair(_, { key, value }): void {
        if (!isScalar(key) || !/^(?:description|message|summary)$/.test(String(key.value))) return;
        if (!isScalar(value) || typeof value.value !== "string" || !value.range) return;
        const [at, end] = value.range;
        texts.push({ at, text: source.slice(at, end).replace(/^["'>|]|["']$/g, " "), place: "description" });
      },
    });
  }
  for (const { 0: lines, index } of source.matchAll(/(?:^ *#.*\n)+/gm)) {
    texts.push({ at: index, text: lines.replace(/^ *#/gm, (mark) => " ".repeat(mark.length)), place: "comment" });
  }
  return texts;
}
