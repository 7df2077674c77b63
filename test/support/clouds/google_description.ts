/**
 * Google's own description of Compute Engine (v1), read from the typings of its library, which are generated from the
 * published discovery document.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export type Mark = "Input" | "Output";

interface Field {
  description: string;
  /** The schema of the value, of its items, or of the values of a map; "" for other values. */
  schema: string;
  isMap: boolean;
}

type Schemas = ReadonlyMap<string, ReadonlyMap<string, Field>>;

const library = import.meta.resolve("@googleapis/compute").replace(/(@googleapis\/compute\/).*$/, "$1");
const typings = fileURLToPath(new URL("build/v1.d.ts", library));
const schemas = schemasIn(await readFile(typings, "utf8"));

/**
 * Returns the sorted paths of all fields below a schema that Google describes as input only, or as output only
 * (`mark`); items of lists share their path.
 */
export function markedPaths(schema: string, mark: Mark, above: readonly string[] = []): string[] {
  if (above.includes(schema)) return [];
  const found = [...need(schema)].flatMap(([name, { description, schema: inner, isMap }]) => {
    const own = hasMark(description, mark) ? [name] : [];
    const below = inner === "" || isMap ? [] : markedPaths(inner, mark, [...above, schema]);
    return [...own, ...below.map((path) => `${name}.${path}`)];
  });
  return found.sort();
}

/**
 * Returns the wrong fields of a request's value: those that the schema does not have, and those that are output only.
 */
export function wrongFields(schema: string, value: unknown, at = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => wrongFields(schema, each, at));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const field = need(schema).get(name);
    if (!field) return [`${at}${name} is unknown`];
    if (hasMark(field.description, "Output")) return [`${at}${name} is output only`];
    return field.schema === "" || field.isMap ? [] : wrongFields(field.schema, each, `${at}${name}.`);
  });
}

function need(schema: string): ReadonlyMap<string, Field> {
  const found = schemas.get(schema);
  if (found) return found;
  throw new Error(`Google has no schema "${schema}"`);
}

function hasMark(description: string, mark: Mark): boolean {
  return new RegExp(`^${mark} only\\.|\\[${mark} only\\]`, "i").test(description);
}

function schemasIn(text: string): Schemas {
  const interfaces = /^ {4}export interface Schema\$(\w+) \{\n([^]*?)^ {4}\}/gm;
  return new Map([...text.matchAll(interfaces)].map(([, name = "", body = ""]) => [name, fieldsIn(body)]));
}

function fieldsIn(body: string): Map<string, Field> {
  const field = /(?:^ {8}\/\*\*\n([^]*?)^ {9}\*\/\n)?^ {8}(\w+)\?: ([^]*?);\n(?= {8}\S|$)/gm;
  return new Map(
    [...body.matchAll(field)].map(([, comment = "", name = "", type = ""]) => {
      const description = comment.replaceAll(/^ *\* ?/gm, "").trim();
      return [name, { description, schema: /Schema\$(\w+)/.exec(type)?.[1] ?? "", isMap: type.startsWith("{") }];
    }),
  );
}
