import { parseArgs } from "node:util";
import { flagOf, noteOf, type SettingShape } from "./setting.ts";

/** What the arguments of a program say about settings. */
export interface FlagArguments {
  /** Texts by field; a flag without the value it needs has undefined. */
  given: Map<string, (string | undefined)[]>;
  /** Arguments that are no setting's. */
  rest: string[];
}

/** Picks the flags of a shape out of arguments, with one dash or two, as Go's flags are written. */
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

/** Field names by flag, other names of a flag included. */
function fieldsByFlag(shape: SettingShape): Map<string, string> {
  return new Map(
    Object.entries(shape).flatMap(([name, field]) =>
      [flagOf(name), ...noteOf(field).also ?? []].map((flag): [string, string] => [flag, name])
    ),
  );
}
