import type { z } from "zod";
import { inWords } from "../fault_words.ts";
import { readFlagArguments } from "./flag_arguments.ts";
import { flagOf, type Form, noteOf, type Setting, type SettingShape, variableOf } from "./setting.ts";

/**
 * The sources of settings: flags win over the environment, the environment over the file, the file over the defaults.
 */
export interface SettingSources {
  argv?: string[];
  /** Environment variables; an empty variable counts as not set. */
  env?: Record<string, string | undefined>;
  /** The content of a settings file, keyed by flag without dashes. */
  file?: Record<string, unknown>;
}

/**
 * The result of reading settings; `faults` names every invalid setting, and `values` is complete only without faults.
 */
interface SettingsRead<Shape extends SettingShape> {
  values: z.output<z.ZodObject<Shape>>;
  faults: string[];
  warnings: string[];
  /** Arguments that do not belong to a setting, for the caller to use or refuse. */
  rest: string[];
  /** Keys of the file that do not belong to a setting, for the caller to use or refuse. */
  restOfFile: string[];
}

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string;

/** One setting as the administrator wrote it. */
interface Written {
  /** The name of the source in messages, such as the flag or the variable. */
  place: string;
  text: string | undefined;
}

/** Reads all settings of a shape from their sources. */
export function readSettings<Shape extends SettingShape>(
  { shape }: z.ZodObject<Shape>,
  { argv = [], env = {}, file = {} }: SettingSources,
  readFile: ReadFile,
): SettingsRead<Shape> {
  const { given, rest } = readFlagArguments(shape, argv);
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  const warnings: string[] = [];
  for (const [name, field] of Object.entries<Setting<unknown>>(shape)) {
    const written = fromFlag(name, field, given) ?? fromEnvironment(name, field, env) ?? fromFile(name, field, file);
    const read = readOne(field, written, readFile);
    if ("fault" in read) faults.push(read.fault);
    else values[name] = read.value;
    const { isIgnored, description } = noteOf(field);
    if (written && isIgnored) warnings.push(`${written.place} is ignored: ${description}`);
  }
  return {
    values: values as SettingsRead<Shape>["values"],
    faults,
    warnings,
    rest,
    restOfFile: unknownOf(shape, file),
  };
}

function fromFlag(
  name: string,
  field: Setting<unknown>,
  given: Map<string, (string | undefined)[]>,
): Written | undefined {
  const texts = given.get(name);
  if (texts === undefined) return undefined;
  const isRepeated = noteOf(field).form === "repeated";
  const text = isRepeated && !texts.includes(undefined) ? texts.join("\n") : texts.at(-1);
  return { place: `--${flagOf(name)}`, text };
}

function fromEnvironment(
  name: string,
  field: Setting<unknown>,
  env: Record<string, string | undefined>,
): Written | undefined {
  const place = variableOf(name, noteOf(field));
  return env[place] ? { place, text: env[place] } : undefined;
}

function fromFile(name: string, field: Setting<unknown>, file: Record<string, unknown>): Written | undefined {
  const { form, also = [] } = noteOf(field);
  const flag = [flagOf(name), ...also].find((key) => file[key] !== undefined);
  if (flag === undefined) return undefined;
  return { place: `${flag} in the file`, text: textOf(file[flag], form) };
}

// Returns a value of the settings file as the text that a flag would have: YAML has lists, mappings, numbers and
// booleans, but a flag has only text.
function textOf(value: unknown, form: Form): string {
  if (Array.isArray(value)) return value.map(String).join(form === "repeated" ? "\n" : ",");
  if (value === null || typeof value !== "object") return String(value ?? "");
  if (form === "json") return JSON.stringify(value);
  return Object.entries(value).map(([key, one]) => `${key}=${one}`).join(",");
}

function readOne(
  field: Setting<unknown>,
  written: Written | undefined,
  readFile: ReadFile,
): { value: unknown } | { fault: string } {
  if (written === undefined) return { value: field.parse(undefined) };
  const { place } = written;
  if (written.text === undefined) return { fault: `${place}: must have a value` };
  const text = written.text.trim();
  const shown = `${place} "${withoutPassword(text)}"`;
  try {
    // An empty path means that no file is set, but an empty file must be refused: its content becomes a line break, so
    // that it does not count as not set.
    const content = noteOf(field).form === "file" && text !== "" ? readFile(text) || "\n" : text;
    const parsed = field.safeParse(content, { error: inWords });
    if (parsed.success) return { value: parsed.data };
    return { fault: `${shown}: ${parsed.error.issues.map(({ message }) => message).join(", ")}` };
  } catch (error) {
    return { fault: `${shown}: the file cannot be read (${(error as { code?: string }).code ?? "unknown cause"})` };
  }
}

// Everything up to the last @ is hidden, because an unescaped password can contain an @ or a slash.
function withoutPassword(text: string): string {
  return text.replaceAll(/\/\/\S*@/g, "//<hidden>@").replaceAll("\n", " ");
}

function unknownOf(shape: SettingShape, file: Record<string, unknown>): string[] {
  const known = Object.entries(shape).flatMap(([name, field]) => [flagOf(name), ...noteOf(field).also ?? []]);
  return Object.keys(file).filter((key) => !known.includes(key));
}
