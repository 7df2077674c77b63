/** Kubernetes objects in YAML files, with the lines of their fields. */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Composer, type CST, type Document, isScalar, Lexer, LineCounter, type Node, Parser } from "yaml";
import type { TagId, Tags } from "yaml";
import { largestText, readFileBounded } from "./bounded_text.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";

/** A place in a file: `profile.yaml:12`. */
export interface Place {
  file: string;
  /** Number of the line, from 1; missing if the place is the whole file. */
  line?: number;
}

export type FieldPath = readonly (string | number)[];

/** An object of a file. */
export interface YamlObject {
  file: string;
  kind: string;
  value: unknown;
  /** Returns the place of a field, or of its nearest parent that exists. */
  placeOf(path: FieldPath): Place;
  /** Returns the place of a line of a text field; of the field itself if the text is not a block literal. */
  placeOfLine(path: FieldPath, line: number): Place;
}

/** Maximum bytes of all files of a folder. */
const largestFolder = 4 * largestText;

/** Maximum entries on the parser's stack, one for each nested map or list; schemas of Kubernetes need a few dozen. */
const deepest = 200;

/** Invalid YAML; the message starts with its place. */
export class YamlFault extends UsageError {
  constructor(readonly place: Place, readonly why: string) {
    super(`${placeText(place)}: Failed to read YAML: ${why}`);
  }
}

/** Returns `profile.yaml:12`, or `profile.yaml` without a line. */
export function placeText({ file, line }: Place): string {
  return line === undefined ? file : `${file}:${line}`;
}

/** Reads a file, or standard input for `-`; throws UsageError for a file that is missing or too large. */
export async function readTextFile(terminal: Terminal, file: string): Promise<string> {
  if (file === "-") return await terminal.readStdin();
  try {
    return await readFileBounded(resolve(terminal.directory, file), `"${file}"`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`Failed to read "${file}": ${whyUnread(error)}`);
  }
}

/** Returns all objects of a file, or of all YAML files of a folder; throws YamlFault for invalid YAML. */
export async function readObjects(terminal: Terminal, file: string): Promise<YamlObject[]> {
  const files = file === "-" ? [file] : await filesOf(terminal, file);
  const all = files.map(async (one) => parseObjects(one === "-" ? "stdin" : one, await readTextFile(terminal, one)));
  return (await Promise.all(all)).flat();
}

async function filesOf(terminal: Terminal, file: string): Promise<string[]> {
  const path = resolve(terminal.directory, file);
  const isFolder = await stat(path).then((found) => found.isDirectory(), () => false);
  if (!isFolder) return [file];
  const names = (await readdir(path)).filter((name) => /\.(ya?ml|json)$/.test(name));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
  if (sizes.reduce((sum, size) => sum + size, 0) > largestFolder) {
    throw new UsageError(`Failed to read "${file}": its YAML and JSON files together exceed the limit of 6 MiB`);
  }
  return names.sort().map((name) => join(file, name));
}

function whyUnread(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Record<string, string> = {
    ENOENT: "it does not exist",
    EISDIR: "it is a folder",
    EACCES: "permission denied",
  };
  return known[code ?? ""] ?? message;
}

/** Returns the objects of a text, including those in a List. */
export function parseObjects(file: string, text: string): YamlObject[] {
  const lines = new LineCounter();
  // YAML as kubectl reads it: 0644 is octal and yes is true, but a date is text.
  const customTags = (tags: Tags): Tags => tags.filter((tag) => !isStrange(tag));
  const composer = new Composer({ version: "1.1", customTags });
  const documents = composer.compose(tokensOf({ file, text, lines }));
  return [...documents].flatMap((document) => objectsIn({ file, lines, document }));
}

interface Text {
  file: string;
  text: string;
  lines: LineCounter;
}

/** Parses as the yaml package does, but stops at excessive nesting before the values are built. */
function* tokensOf({ file, text, lines }: Text): Generator<CST.Token> {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length <= deepest) continue;
    throw new YamlFault({ file, line: lines.linePos(parser.offset).line }, "it is nested too deeply");
  }
  yield* parser.end();
}

function isStrange(tag: Tags[number]): boolean {
  if (typeof tag === "string") return (["timestamp", "binary", "intTime", "floatTime"] as TagId[]).includes(tag);
  return /:(timestamp|binary)$/.test(tag.tag) || tag.format === "TIME";
}

interface Parsed {
  file: string;
  lines: LineCounter;
  document: Document;
}

function objectsIn(parsed: Parsed): YamlObject[] {
  const { file, lines, document } = parsed;
  const [error] = document.errors;
  if (error !== undefined) {
    throw new YamlFault({ file, line: lines.linePos(error.pos[0]).line }, error.message);
  }
  const value = plainValue(parsed);
  if (value === null || value === undefined) return [];
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  if (kind === "List" && Array.isArray(items)) {
    return items.map((item: unknown, index) => objectAt(parsed, item, ["items", index]));
  }
  return [objectAt(parsed, value, [])];
}

function plainValue({ file, document }: Parsed): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new YamlFault({ file }, error instanceof Error ? error.message : String(error));
  }
}

function objectAt({ file, lines, document }: Parsed, value: unknown, root: FieldPath): YamlObject {
  const nodeAt = (path: FieldPath): Node | undefined => {
    for (let length = path.length; length >= 0; length--) {
      const at = [...root, ...path.slice(0, length)];
      const node = (at.length === 0 ? document.contents : document.getIn(at, true)) as Node | null | undefined;
      if (node?.range) return node;
    }
    return undefined;
  };
  const placeOf = (path: FieldPath, further = 0): Place => {
    const start = nodeAt(path)?.range?.[0];
    return start === undefined ? { file } : { file, line: lines.linePos(start).line + further };
  };
  const { kind } = (value ?? {}) as { kind?: unknown };
  return {
    file,
    kind: typeof kind === "string" ? kind : "",
    value,
    placeOf: (path) => placeOf(path),
    placeOfLine: (path, line) => {
      const node = nodeAt(path);
      return placeOf(path, isScalar(node) && node.type === "BLOCK_LITERAL" ? line : 0);
    },
  };
}
