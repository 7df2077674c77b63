import { z } from "zod";
import process from "node:process";
import { type Context, createContext, Script } from "node:vm";

/** The value of a parameter in templates. */
export type ParameterValue = string | number | boolean | string[];

/** Letters, digits, signs and spaces of any script; `unsafe` are the signs that end or expand a quoted shell word. */
const safeText = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
const unsafe = /["'`\\$]/;
const safeWords = "printable text without quotes, backslashes, $ and `";

const fields = z.strictObject({
  type: z.enum(["string", "integer", "boolean", "list"]).default("string"),
  description: z.string(),
  default: z.union([z.string(), z.int(), z.boolean(), z.array(z.string())]).optional(),
  /**
   * Regular expression for the whole string, or for each item of a list; without `pattern` and `enum`, the text must be
   * safe in a shell.
   */
  pattern: z.string().optional(),
  enum: z.array(z.string()).min(1).optional(),
});

type Rules = Pick<z.infer<typeof fields>, "type" | "pattern" | "enum" | "default">;

/** A parameter of a profile; a MachineDeployment can set it, and must set it if it has no default. */
export const Parameter = fields.superRefine((parameter, context) => {
  const fault = defaultFault(parameter);
  if (fault !== undefined) context.addIssue({ code: "custom", ...fault });
});
export type Parameter = z.infer<typeof Parameter>;

/** Returns what is wrong with the default or pattern of a parameter, and the field; undefined if both are valid. */
function defaultFault(parameter: Rules): { path: string[]; message: string } | undefined {
  const { pattern, default: value } = parameter;
  if (pattern !== undefined && !isPattern(pattern)) {
    return { path: ["pattern"], message: "must be a regular expression" };
  }
  if (value === undefined || isFit(parameter, value)) return undefined;
  return { path: ["default"], message: `must be ${wantedOf(parameter)}` };
}

/** Returns whether a value is valid for a parameter. */
export function isFit({ type, pattern, enum: choices }: Rules, value: ParameterValue): boolean {
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

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Returns a description of the valid values of a parameter, such as "a whole number". */
export function wantedOf({ type, pattern, enum: choices }: Rules): string {
  const text = choices
    ? `one of ${choices.join(", ")}`
    : pattern === undefined
    ? safeWords
    : `text matching ${pattern}`;
  const isFree = choices === undefined && pattern === undefined;
  const wanted = {
    string: text,
    integer: isFree ? "a whole number" : `a whole number, ${text}`,
    boolean: "true or false",
    list: `a comma-separated list of ${text}`,
  };
  return wanted[type];
}

// Profiles contain regular expressions of their authors, so every match has a limit of processor time.

/** The limit of a match in milliseconds of processor time, because some patterns backtrack practically for ever. */
const matchMs = 100;
/** Maximum attempts of a match that times out by the clock but uses little processor time. */
const tries = 20;

/** Runs matches and measures the processor time. */
export interface Processor {
  /** Returns whether all texts match; throws if the match takes longer than `ms` by the clock. */
  run(pattern: string, texts: string[], ms: number): boolean;
  /** Returns the processor time that this process has used, in milliseconds. */
  usedMs(): number;
}

const script = "((wanted) => texts.every((text) => wanted.test(text)))(new RegExp(`^(?:${pattern})$`, 'u'))";

// All matches share one context, which is safe because a pattern cannot run code. Creating a context takes twenty times
// as long as most matches, and a context occupies more than half a MiB until it is garbage-collected.
let realm: { context: Context; match: Script } | undefined;

const own: Processor = {
  run: (pattern, texts, timeout) => {
    const { context, match } = realm ??= { context: createContext(), match: new Script(script) };
    Object.assign(context, { pattern, texts });
    return match.runInContext(context, { timeout });
  },
  usedMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

/** Returns whether the pattern matches the whole of each text; false if the match takes too long. */
export function allMatch(pattern: string, texts: string[], processor = own): boolean {
  const startedAt = processor.usedMs();
  for (let nth = 0; nth < tries; nth++) {
    try {
      return processor.run(pattern, texts, matchMs);
    } catch (error) {
      const isLate = (error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      // A match that used little processor time is repeated, because the clock also runs while other processes use the
      // processor.
      if (!isLate || processor.usedMs() - startedAt >= matchMs / 2) return false;
    }
  }
  return false;
}
