import { z } from "zod";
import process from "node:process";
import { type Context, createContext, Script } from "node:vm";

/** What templates see: text, whole number, true or false, or texts. */
export type ParameterValue = string | number | boolean | string[];

/** Letters, digits, signs and spaces of any script, without those that end or expand a quoted word of a shell. */
const safeText = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
const unsafe = /["'`\\$]/;
const safeWords = "printable text without quotes, backslashes, $ and `";

const fields = z.strictObject({
  type: z.enum(["string", "integer", "boolean", "list"]).default("string"),
  description: z.string(),
  default: z.union([z.string(), z.int(), z.boolean(), z.array(z.string())]).optional(),
  /** What the whole of a string, or of each item of a list, must match; without it, text that is safe in shell files. */
  pattern: z.string().optional(),
  enum: z.array(z.string()).min(1).optional(),
});

type Rules = Pick<z.infer<typeof fields>, "type" | "pattern" | "enum" | "default">;

/** Something that a MachineDeployment may set for a profile; without a default, something that it must. */
export const Parameter = fields.superRefine((parameter, context) => {
  const fault = defaultFault(parameter);
  if (fault !== undefined) context.addIssue({ code: "custom", ...fault });
});
export type Parameter = z.infer<typeof Parameter>;

/** What is wrong with a parameter's default or pattern, and in which field; undefined when nothing is. */
function defaultFault(parameter: Rules): { path: string[]; message: string } | undefined {
  const { pattern, default: value } = parameter;
  if (pattern !== undefined && !isPattern(pattern)) {
    return { path: ["pattern"], message: "must be a regular expression" };
  }
  if (value === undefined || isFit(parameter, value)) return undefined;
  return { path: ["default"], message: `must be ${wantedOf(parameter)}` };
}

/** Whether a value is what a parameter wants. */
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

/** What a parameter wants, in words. */
export function wantedOf({ type, pattern, enum: choices }: Rules): string {
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

// Regular expressions of strangers, for whom a moment of the processor is all there is.

/** Milliseconds of processor time: some patterns take longer than the universe will last. */
const matchMs = 100;
/** Times that a match is begun anew which the clock ended, though it had hardly had the processor by then. */
const tries = 20;

/** What a match runs on. */
export interface Processor {
  /** Whether all texts match; throws when it took longer than `ms` by the clock. */
  run(pattern: string, texts: string[], ms: number): boolean;
  /** Milliseconds of processor time that this process has had. */
  usedMs(): number;
}

const script = "((wanted) => texts.every((text) => wanted.test(text)))(new RegExp(`^(?:${pattern})$`, 'u'))";

// One for all matches, as a pattern runs no code of its own: to make one takes twenty times as long as most matches, and
// most of a MiB until the collector finds it.
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

/** Whether the whole of each text matches; false where that cannot be told in time. */
export function allMatch(pattern: string, texts: string[], processor = own): boolean {
  const begun = processor.usedMs();
  for (let nth = 0; nth < tries; nth++) {
    try {
      return processor.run(pattern, texts, matchMs);
    } catch (error) {
      const isLate = (error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      // A clock runs on while others have the processor.
      if (!isLate || processor.usedMs() - begun >= matchMs / 2) return false;
    }
  }
  return false;
}
