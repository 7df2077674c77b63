import process from "node:process";
import { styleText } from "node:util";
import { readBounded } from "./bounded_text.ts";
import { createInterface } from "node:readline";

type Style = Parameters<typeof styleText>[0];

/** Where a command reads and writes; tests bring their own. */
export interface Terminal {
  /** What was asked for. */
  out(text: string): void;
  /** Everything else: progress, notes, errors. */
  err(text: string): void;
  /** Somebody looks at `out`. */
  isWatched: boolean;
  /** Somebody looks at `err`. */
  isErrWatched: boolean;
  readStdin(): Promise<string>;
  /** Asks a person and gives the line that comes back; missing where nobody could answer. */
  ask?(question: string): Promise<string>;
  /** From now on nothing is left half done because a reader goes away; missing where none can. */
  seeThrough?(): void;
  /** The size of what is looked at; missing where nobody looks. */
  columns?(): number;
  rows?(): number;
  /** What relative paths are relative to. */
  directory: string;
  env: Record<string, string | undefined>;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  let read: Promise<string> | undefined;
  let isSeenThrough = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.exit(1);
    // A reader that has seen enough, such as `head`, is no failure; but there may be pools that have not been asked yet.
    if (!isSeenThrough) process.exit(0);
  });
  // What nobody reads is in the exit code too.
  stderr.on("error", (error: NodeJS.ErrnoException) => void (error.code === "EPIPE" || process.exit(1)));
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isWatched: stdout.isTTY === true,
    isErrWatched: stderr.isTTY === true,
    // Once: profile and MachineDeployment may come in one stream.
    readStdin: () => read ??= readBounded(stdin, "standard input"),
    ...(stdin.isTTY && stderr.isTTY
      ? { ask: (question: string) => askOn({ input: stdin, output: stderr }, question) }
      : {}),
    seeThrough: () => void (isSeenThrough = true),
    columns: () => stdout.columns,
    rows: () => stdout.rows,
    // `deno task` goes to the project's root and leaves here where it was called.
    directory: env["INIT_CWD"] ?? process.cwd(),
    env,
  };
}

/** Styles a text where somebody looks at it; NO_COLOR switches that off. */
export function styled({ isWatched, env }: Terminal, style: Style, text: string): string {
  return isWatched && !env["NO_COLOR"] && env["TERM"] !== "dumb"
    ? styleText(style, text, { validateStream: false })
    : text;
}

/** How the command was called, for what people can type next: `kubectl ostler` where it is a plugin. */
export function calledAs({ env }: Terminal): string {
  return env["OSTLER_CALLED_AS"] || "ostler";
}

/** Where a person types, and where the question stands. */
export interface Asking {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Keys come one by one; by itself where the output is a terminal. */
  terminal?: boolean;
}

/** Asks, and gives the line that comes back; an empty one where the question is left with Ctrl-C or Ctrl-D. */
export async function askOn(streams: Asking, question: string): Promise<string> {
  const lines = createInterface(streams);
  return await new Promise((resolve) => {
    const leave = (): void => {
      streams.output.write("\n"); // what is said next begins a line
      resolve("");
    };
    lines.once("close", leave);
    lines.question(question, (answer) => {
      lines.off("close", leave);
      lines.close();
      resolve(answer);
    });
  });
}
