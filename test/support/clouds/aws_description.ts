/** AWS's own description of EC2, read from the typings of its library, which are generated from the published model. */
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** For each shape, its fields by name, each with the type of its value; for a list, with the type of the items. */
type Shapes = ReadonlyMap<string, ReadonlyMap<string, string>>;

const library = import.meta.resolve("@aws-sdk/client-ec2").replace(/(@aws-sdk\/client-ec2\/).*$/, "$1");
const models = new URL("dist-types/models/", library);
const files = (await readdir(fileURLToPath(models))).filter((name) => name.startsWith("models_"));
const texts = await Promise.all(files.map((name) => readFile(fileURLToPath(new URL(name, models)), "utf8")));
const shapes = shapesIn(texts.join("\n"));

/**
 * Returns the paths below a shape that the other shape does not have, sorted: fields that only a request has are input
 * only, and those that only a response has are output only. Items of lists share their path.
 */
export function missingPaths(shape: string, other: string): string[] {
  const others = need(other);
  return [...need(shape)].flatMap(([name, inner]) => {
    const counterpart = others.get(name);
    if (counterpart === undefined) return [name];
    if (!shapes.has(inner) || !shapes.has(counterpart)) return [];
    return missingPaths(inner, counterpart).map((path) => `${name}.${path}`);
  }).sort();
}

function need(shape: string): ReadonlyMap<string, string> {
  const found = shapes.get(shape);
  if (found) return found;
  throw new Error(`EC2 has no shape "${shape}"`);
}

function shapesIn(text: string): Shapes {
  const interfaces = /^export interface (\w+) \{\n([^]*?)^\}/gm;
  return new Map([...text.matchAll(interfaces)].map(([, name = "", body = ""]) => [name, fieldsIn(body)]));
}

function fieldsIn(body: string): Map<string, string> {
  const fields = body.matchAll(/^ {4}(\w+)\??: (\w+)(?:\[\])? \| undefined;$/gm);
  return new Map([...fields].map(([, name = "", shape = ""]) => [name, shape]));
}
