/** The files of this repository that each module uses, by the names in its text. */

/** The files that a module uses, by path from the root. */
export interface Uses {
  /** Modules that it imports, including those it imports only for their types. */
  imports: string[];
  /** Modules and scripts that it names by path or task, because it runs or bundles them. */
  starts: string[];
  /** Other files that it names by path, and all files below a folder that it names. */
  reads: string[];
}

/** The uses of each module, by its path. */
export type ImportGraph = ReadonlyMap<string, Uses>;

/** The files and tasks that a name in a text may refer to. */
export interface Known {
  /** All files, by path from the root. */
  files: readonly string[];
  /** Commands of `deno task`, by name. */
  tasks?: Readonly<Record<string, string>>;
}

/** Returns whether the text of a file can name modules. */
export function isModule(path: string): boolean {
  return path.endsWith(".ts") || path === "cli/kubectl-ostler";
}

/** Returns the relative paths that a text imports: import, export from, import() and the types of import(). */
export function importsOf(path: string, text: string): string[] {
  const named = [...withoutComments(text).matchAll(/(?:\bfrom|\bimport|\bimport\s*\()\s*"(\.[^"]*)"/g)];
  return named.map(([, specifier = ""]) => resolved(specifier, path));
}

/** Returns which files each module uses, from the texts of all modules by path. */
export function importGraph(texts: ReadonlyMap<string, string>, { files, tasks = {} }: Known): ImportGraph {
  const find = finderIn(files);
  return new Map([...texts].map(([path, text]) => {
    const imports = importsOf(path, text);
    const named = namesIn(text).map((name) => find(name, path));
    const ofTasks = tasksIn(text).flatMap((task) => tasks[task]?.match(/[\w/]+\.ts/g) ?? []);
    const exact = [...ofTasks, ...named.flatMap((each) => each.exact)];
    const starts = exact.filter((file) => isModule(file) && !imports.includes(file));
    const reads = [...exact.filter((file) => !isModule(file)), ...named.flatMap((each) => each.below)];
    return [path, { imports: unique(imports), starts: unique(starts), reads: unique(reads) }];
  }));
}

/** A string literal that may be a path, with "*" in place of each `${…}`. */
interface Name {
  text: string;
  isRelative: boolean;
}

function namesIn(text: string): Name[] {
  // Shell scripts name modules by a path below $root, so such paths count too.
  const paths = /(new URL\(\s*)?(?:["'`]|\$root\/)((?:\$\{[^{}]*\}|[\w.@/-])+)["'`]/g;
  return [...withoutComments(text).matchAll(paths)].map(([, url, path = ""]) => {
    return { text: path.replaceAll(/\$\{[^{}]*\}/g, "*"), isRelative: url !== undefined || /^\.\.?\//.test(path) };
  });
}

/** Tasks of deno.json that a text runs, or whose command it takes. */
function tasksIn(text: string): string[] {
  return [...text.matchAll(/(?:"task",(?:\s*"-[\w-]+",)*\s*"|\btasks\.)([\w:]+)/g)].map(([, task = ""]) => task);
}

/**
 * Returns a function that finds the files to which a name refers: a file beside the module or below the root, files
 * that match a pattern, or all files below a folder.
 */
function finderIn(files: readonly string[]): (name: Name, path: string) => { exact: string[]; below: string[] } {
  const known = new Set(files);
  const rooms = new Set(files.filter((file) => file.includes("/")).map((file) => file.split("/", 1)[0]));
  const matching = (pattern: string): string[] => {
    const expression = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}`);
    return files.filter((file) => expression.test(file));
  };
  return ({ text, isRelative }, path) => {
    const [beside, below] = [resolved(text, path), resolved(text.replace(/^\*\/?/, ""), "")];
    const exact = [beside, below].filter((target) => known.has(target));
    const target = (isRelative ? beside : below).replace(/\/$/, "");
    // A name without a slash is rarely meant as a folder, so it counts only if it is relative.
    const isPath = rooms.has(target.split("/", 1)[0]) && (isRelative || target.includes("/"));
    if (exact.length > 0 || !isPath) return { exact, below: [] };
    if (/\.\w+$/.test(target)) return { exact: target.includes("*") ? matching(`${target}$`) : [], below: [] };
    return { exact: [], below: matching(target.endsWith("*") ? target : `${target}/`) };
  };
}

function resolved(specifier: string, path: string): string {
  return new URL(specifier, `house:///${path}`).pathname.slice(1);
}

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*\/\*[\s\S]*?\*\//gm, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}
