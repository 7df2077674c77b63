// deno-lint-ignore-file no-console -- this program prints findings
/** Prints words in files of the repository that are not plain English, grouped by folder. */
import { parseArgs } from "node:util";
import { documents, findInDocuments, type Found, listFiles, root, toLine } from "./documents.ts";

const help = `Usage: deno task words [flags] [PATH...]

Shows words that are not plain English: the first lines of each folder, or all lines below each PATH.

Flags:
  -o, --output   Format: table or json (default table)
  --strict       Exit with code 1 if there are findings
  -h, --help     Print this help`;

/** Maximum number of findings that the table shows for each folder when no path is given. */
const shown = 3;

/** A finding of `deno lint --json`. */
interface Diagnostic {
  filename: string;
  code: string;
  message: string;
  hint: string;
  range: { start: { line: number } };
}

/** Runs the lint rule on files, because only `deno lint` parses TypeScript for it. */
function findInTypeScript(files: readonly string[]): Found[] {
  if (files.length === 0) return [];
  const options = { args: ["lint", "--json", ...files], cwd: root };
  const { stdout, stderr } = new Deno.Command(Deno.execPath(), options).outputSync();
  if (stdout.length === 0) throw new Error(`Failed to run deno lint: ${new TextDecoder().decode(stderr)}`);
  const { diagnostics } = JSON.parse(new TextDecoder().decode(stdout)) as { diagnostics: Diagnostic[] };
  return diagnostics.filter(({ code }) => code === "house/plain-english").map((each) => ({
    file: decodeURI(new URL(each.filename).pathname).slice(root.length),
    line: each.range.start.line,
    words: each.message.slice(1, each.message.lastIndexOf('"')),
    instead: each.hint.replace("Write: ", ""),
  }));
}

/** Returns the folders of a file, the outermost first. */
function foldersOf(file: string): string[] {
  return [...file.matchAll(/\//g)].map(({ index }) => file.slice(0, index + 1));
}

function tableOf(found: readonly Found[], limit: number): string[] {
  const folders = Object.entries(Object.groupBy(found, ({ file }) => foldersOf(file).slice(0, 2).at(-1) ?? "./"));
  return folders.toSorted(([a], [b]) => a.localeCompare(b)).map(([folder, each = []]) => {
    const files = new Set(each.map(({ file }) => file)).size;
    const lines = each.slice(0, limit).map((one) => `  ${toLine(one)}`);
    return [`${folder}: ${each.length} in ${files} ${files === 1 ? "file" : "files"}`, ...lines].join("\n");
  });
}

function main(args: string[]): number {
  const { values: { output, strict: isStrict, help: isHelp }, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o", default: "table" },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (isHelp || !["table", "json"].includes(output)) {
    console.log(isHelp ? help : `Unknown format "${output}"\n\n${help}`);
    return isHelp ? 0 : 2;
  }
  const isBelow = (file: string): boolean => positionals.length === 0 || positionals.some((it) => file.startsWith(it));
  const [scripts, texts] = [["*.ts"], documents].map((each) => listFiles(each).filter(isBelow)) as [string[], string[]];
  const found = [...findInTypeScript(scripts), ...findInDocuments(texts)];
  if (output === "json") console.log(JSON.stringify(found, undefined, 2));
  else console.log([...tableOf(found, positionals.length > 0 ? Infinity : shown), `${found.length} in all`].join("\n"));
  return isStrict && found.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(main(Deno.args));
