import * as library from "eta/core";
import { freezeAll } from "./frozen_realm.ts";
import type { TemplateRequest } from "./template_engine.ts";

const { Eta, EtaParseError } = library;

/** An error whose message already names the snippet or the line that failed. */
class PlacedError extends Error {}

/** Thrown if a file does not render; has the file and the cause. */
export class FileFault extends Error {
  constructor(readonly file: string, why: unknown) {
    super(why instanceof Error ? why.message : "it threw a value that is not an Error");
  }
}

type Compiled = ReturnType<library.Eta["compile"]>;

interface Parsed {
  eta: library.Eta;
  files: Map<string, Compiled>;
}

// One process serves one version of a profile, so this map stays small.
const kept = new Map<string, Parsed>();

/** Renders in this process; throws FileFault that names file or snippet, line and expression. */
export function renderStrictly({ files, snippets, data }: Omit<TemplateRequest, "scope">): string[] {
  const strict = (value: unknown): unknown => strictData(value, "it");
  return files.map(({ path, template }) => {
    try {
      const parsed = parsedWith(snippets);
      const render = parsed.files.get(template) ?? compile("template", () => parsed.eta.compile(template));
      parsed.files.set(template, render);
      freezeAll(render);
      // `strict` is an option, because Eta copies the data for every included snippet, but passes the options on
      // unchanged.
      const options = { filepath: path, strict } as { filepath: string };
      return parsed.eta.render(render, data as object, options);
    } catch (error) {
      throw new FileFault(path, error);
    }
  });
}

function parsedWith(snippets: Record<string, string>): Parsed {
  const key = JSON.stringify(snippets);
  const found = kept.get(key);
  if (found !== undefined) return found;
  const eta = strictEta(snippets);
  for (const [snippet, text] of Object.entries(snippets)) {
    compile(`snippet "${snippet}"`, () => eta.loadTemplate(`@${snippet}`, text));
  }
  // Eta's classes are frozen too: a template can construct another Eta, which shares its default settings with every
  // other Eta.
  freezeAll(eta, new Eta(), ...Object.values(library), PlacedError);
  const parsed = { eta, files: new Map<string, Compiled>() };
  kept.set(key, parsed);
  return parsed;
}

function strictEta(snippets: Record<string, string>): library.Eta {
  // Names of snippets by their text, because Eta reports only the text of the template that failed, with normalised
  // line ends.
  const names = new Map(Object.entries(snippets).map(([name, text]) => [text.replaceAll(/\r\n?/g, "\n"), name]));
  const eta = new Eta({
    autoEscape: false,
    autoFilter: true,
    autoTrim: false,
    debug: true,
    filterFunction: printable,
    functionHeader: "it = options.strict(it);",
  });
  eta.RuntimeErr = (error, source, line): never => {
    if (error instanceof PlacedError) throw error;
    const snippet = names.get(source);
    throw new PlacedError(`${snippet === undefined ? "" : `snippet "${snippet}": `}line ${line}: ${error.message}`);
  };
  return eta;
}

function printable(value: unknown): string {
  if (["string", "number", "boolean", "bigint"].includes(typeof value) && !Number.isNaN(value)) return String(value);
  const what = value === undefined || value === null ? String(value) : Array.isArray(value) ? "a list" : typeof value;
  throw new Error(`cannot print ${what}`);
}

function compile<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof EtaParseError)) throw error;
    const [title = "", ...rest] = error.message.split("\n");
    const detail = title === "Bad template syntax" ? rest.find((line) => line !== "") : title;
    throw new PlacedError(`${what} does not parse: ${detail ?? title}`);
  }
}

/** Returns data in which reading a missing field throws an error that names it, such as `it.cluster.port`. */
function strictData(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key): unknown {
      const inner: unknown = Reflect.get(target, key);
      if (typeof key === "symbol") return inner;
      if (key in target) return typeof inner === "function" ? inner : strictData(inner, pathOf(path, key));
      // These two fields may be missing: JSON.stringify reads toJSON, and Eta's blocks read __blocks.
      if (key === "toJSON" || key === "__blocks") return undefined;
      throw new Error(`${pathOf(path, key)} is missing`);
    },
  });
}

function pathOf(path: string, key: string): string {
  if (/^\d+$/.test(key)) return `${path}[${key}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
