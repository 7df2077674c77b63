import { runInNewContext } from "node:vm";
import { ProfileRefused } from "./refusal.ts";
import type { OsProfile, Parameter } from "./schema.ts";

/** What templates see: text, whole number, true or false, or texts. */
export type ParameterValue = string | number | boolean | string[];

/** Annotations of a MachineDeployment that set parameters start with it; the parameter's name follows. */
export const parameterPrefix = "parameter.ostler.dev/";

// A pattern is as foreign as the profile it stands in, and some take longer than the universe will last.
const matchMs = 100;

/** Letters, digits, signs and spaces of any script, without those that end or expand a quoted word of a shell. */
const safeText = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
const unsafe = /["'`\\$]/;
const safeWords = "printable text without quotes, backslashes, $ and `";

/**
 * The values of a profile's parameters: what the annotations say, else the defaults.
 * Throws ProfileRefused (ParameterInvalid) for an annotation without its parameter, a wrong or a missing value.
 */
export function parameterValues(
  { parameters = {} }: Pick<OsProfile, "parameters">,
  annotations: Record<string, string>,
): Record<string, ParameterValue> {
  const given = Object.keys(annotations).filter((key) => key.startsWith(parameterPrefix));
  const unknown = given.find((key) => !Object.hasOwn(parameters, key.slice(parameterPrefix.length)));
  if (unknown !== undefined) {
    const known = Object.keys(parameters).sort().join(", ") || "none";
    throw invalid(
      unknown,
      annotations[unknown] ?? "",
      `the profile has no such parameter, its parameters are: ${known}`,
    );
  }
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, valueOf(name, parameter, annotations)]),
  );
}

function valueOf(name: string, parameter: Parameter, annotations: Record<string, string>): ParameterValue {
  const key = `${parameterPrefix}${name}`;
  const text = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  if (text === undefined) {
    if (parameter.default !== undefined) return parameter.default;
    const wanted = `${wantedOf(parameter)}, and the profile has no default`;
    throw new ProfileRefused("ParameterInvalid", `Cannot use annotation "${key}": it is missing, wanted is ${wanted}`);
  }
  const value = readText(parameter.type, text);
  if (value === undefined || !isFit(parameter, value)) throw invalid(key, text, `wanted is ${wantedOf(parameter)}`);
  return value;
}

function readText(type: Parameter["type"], text: string): ParameterValue | undefined {
  switch (type) {
    case "string":
      return text;
    case "integer":
      return /^-?\d+$/.test(text.trim()) ? Number(text) : undefined;
    case "boolean":
      return ({ true: true, false: false } as Record<string, boolean>)[text.trim()];
    case "list":
      return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  }
}

type Rules = Pick<Parameter, "type" | "pattern" | "enum" | "default">;

/** What is wrong with a parameter's default or pattern, and in which field; undefined when nothing is. */
export function defaultFault(parameter: Rules): { path: string[]; message: string } | undefined {
  const { pattern, default: value } = parameter;
  if (pattern !== undefined && !isPattern(pattern)) {
    return { path: ["pattern"], message: "must be a regular expression" };
  }
  if (value === undefined || isFit(parameter, value)) return undefined;
  return { path: ["default"], message: `must be ${wantedOf(parameter)}` };
}

function isFit({ type, pattern, enum: choices }: Rules, value: ParameterValue): boolean {
  if (type === "boolean") return typeof value === "boolean";
  const texts = textsOf(type, value);
  if (texts === undefined || (choices !== undefined && !texts.every((text) => choices.includes(text)))) return false;
  if (pattern !== undefined) return allMatch(pattern, texts);
  return choices !== undefined || texts.every((text) => safeText.test(text) && !unsafe.test(text));
}

function textsOf(type: Parameter["type"], value: ParameterValue): string[] | undefined {
  if (type === "list") return Array.isArray(value) ? value : undefined;
  if (type === "integer") return Number.isSafeInteger(value) ? [String(value)] : undefined;
  return typeof value === "string" ? [value] : undefined;
}

function allMatch(pattern: string, texts: string[]): boolean {
  try {
    const script = "const wanted = new RegExp(`^(?:${pattern})$`, 'u'); texts.every((text) => wanted.test(text))";
    return runInNewContext(script, { pattern, texts }, { timeout: matchMs });
  } catch {
    return false;
  }
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function wantedOf({ type, pattern, enum: choices }: Rules): string {
  const text = choices ? `one of ${choices.join(", ")}` : pattern === undefined ? safeWords : `text like ${pattern}`;
  const isFree = choices === undefined && pattern === undefined;
  const wanted = {
    string: text,
    integer: isFree ? "a whole number" : `a whole number, ${text}`,
    boolean: "true or false",
    list: `a list of ${text}, joined by commas`,
  };
  return wanted[type];
}

function invalid(key: string, text: string, why: string): ProfileRefused {
  const shown = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
  return new ProfileRefused("ParameterInvalid", `Cannot use annotation "${key}": its value is ${shown}, ${why}`);
}
