import { parseArgs } from "node:util";
import { flagOf, noteOf, type SettingShape } from "./setting.ts";

/** The arguments of a program, split into settings and the rest. */
interface FlagArguments {
  /** Texts by field; undefined stands for a flag without its required value. */
  given: Map<string, (string | undefined)[]>;
  /** Arguments that do not belong to a setting. */
  rest: string[];
}

/**
 * Splits arguments into the flags of the settings in `shape` and the other arguments. Like in Go, a flag begins with
 * one dash or two.
 */
export function readFlagArguments(shape: SettingShape, argv: string[]): FlagArguments {
  const fields = fieldsByFlag(shape);
  const args = argv.map((arg) => arg.replace(/^-(?=[A-Za-z])/, "--"));
  const isTruth = (name: string): boolean => noteOf(shape[name]!).form === "truth";
  const options = Object.fromEntries(
    [...fields].map(([flag, name]) => [flag, { type: isTruth(name) ? "boolean" : "string" } as const]),
  );
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const given: FlagArguments["given"] = new Map();
  const rest: string[] = [];
  for (const token of tokens) {
    const name = token.kind === "option" ? fields.get(token.name) : undefined;
    if (token.kind !== "option" || name === undefined) {
      rest.push(argv[token.index] ?? "");
      continue;
    }
    const value = token.value ?? (isTruth(name) ? "true" : undefined);
    given.set(name, [...given.get(name) ?? [], value]);
  }
  return { given, rest };
}

/** Returns field names by flag, including alternative names of a flag. */
function fieldsByFlag(shape: SettingShape): Map<string, string> {
  return new Map(
    Object.entries(shape).flatMap(([name, field]) =>
      [flagOf(name), ...noteOf(field).also ?? []].map((flag): [string, string] => [flag, name])
    ),
  );
}
