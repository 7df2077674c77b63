/** Completions of a command line, from the definitions of the commands. */
import type { Command, Option } from "commander";

/** A word with its meaning. */
export interface Suggestion {
  word: string;
  meaning: string;
}

/** The possible completions at the cursor. */
export interface Suggestions {
  suggestions: Suggestion[];
  /** The objects whose names are read from the cluster as completions; undefined for none. */
  names: "pools" | "machines" | "images" | undefined;
  /** Whether the word can be a path, which the shell completes. */
  files: boolean;
  /** The value of `-n` in the line so far. */
  namespace: string | undefined;
  /** The values of all flags in the line so far; those that locate the cluster are used to read names from it. */
  connection: Record<string, string>;
}

/**
 * Returns the completions of `words`, which follow the program's name; the last word is being typed and may be empty.
 * Pure.
 */
export function suggestionsFor(program: Command, words: readonly string[]): Suggestions {
  const [typed, before] = [words.at(-1) ?? "", words.slice(0, -1)];
  const line = readLine(program, before);
  const { command, open } = line;
  const context = { namespace: line.values["namespace"], connection: line.values, names: undefined, files: false };
  const only = (all: Suggestion[]): Suggestion[] => all.filter(({ word }) => word.startsWith(typed));
  if (open !== undefined) {
    const choices = (open.argChoices ?? []).map((word) => ({ word, meaning: "" }));
    return {
      ...context,
      suggestions: only(choices),
      files: choices.length === 0 && /file|path|folder/.test(open.flags),
    };
  }
  if (typed.startsWith("-")) return { ...context, suggestions: only(optionsOf(command)) };
  if (command === program) return { ...context, suggestions: only(commandsOf(program)) };
  const argument = command.registeredArguments[line.positions] ?? variadicOf(command);
  const choices = (argument?.argChoices ?? []).map((word) => ({ word, meaning: "" }));
  const name = argument?.name();
  return {
    ...context,
    suggestions: only(choices),
    names: name === "pool" || (command.name() === "diff" && line.positions === 0)
      ? "pools"
      : name === "machine"
      ? "machines"
      : name === "image"
      ? "images"
      : undefined,
    files: name !== undefined && !["pool", "machine", "image", "action", "shell"].includes(name),
  };
}

interface Line {
  command: Command;
  /** The number of complete positional arguments so far. */
  positions: number;
  /** The option whose value is being typed; undefined if the last word is not a value. */
  open: Option | undefined;
  /** Values of options so far, by commander's attribute name, such as `profileNamespace`. */
  values: Record<string, string>;
}

function readLine(program: Command, words: readonly string[]): Line {
  const line: Line = { command: program, positions: 0, open: undefined, values: {} };
  for (const word of words) {
    if (line.open !== undefined) {
      line.values[line.open.attributeName()] = word;
      line.open = undefined;
    } else if (word.startsWith("-")) readOption(line, word);
    else if (line.command === program) line.command = program.commands.find((one) => one.name() === word) ?? program;
    else line.positions += 1;
  }
  return line;
}

function readOption(line: Line, word: string): void {
  const [flag = "", value] = word.split("=", 2);
  const option = line.command.options.find(({ short, long }) => flag === short || flag === long);
  if (option === undefined || option.isBoolean()) return;
  if (value === undefined) line.open = option;
  else line.values[option.attributeName()] = value;
}

function variadicOf({ registeredArguments }: Command): Command["registeredArguments"][number] | undefined {
  const last = registeredArguments.at(-1);
  return last?.variadic ? last : undefined;
}

function optionsOf(command: Command): Suggestion[] {
  return command.createHelp().visibleOptions(command)
    .map(({ long, short, description }) => ({ word: long ?? short ?? "", meaning: description }));
}

function commandsOf(program: Command): Suggestion[] {
  return program.createHelp().visibleCommands(program)
    .map((command) => ({ word: command.name(), meaning: command.summary() || command.description() }));
}
