import process from "node:process";
import { styleText } from "node:util";
import { readBounded } from "./bounded_text.ts";
import { createInterface } from "node:readline";

type Style = Parameters<typeof styleText>[0];

/** Input and output of a command; tests provide their own. */
export interface Terminal {
  /** Writes the result of the command. */
  out(text: string): void;
  /** Writes everything else: progress, notes, errors. */
  err(text: string): void;
  /** Whether `out` is a terminal. */
  isWatched: boolean;
  /** Whether `err` is a terminal. */
  isErrWatched: boolean;
  readStdin(): Promise<string>;
  /** Asks the user and returns the answer; missing without a terminal. */
  ask?(question: string): Promise<string>;
  /**
   * Keeps the process running when the reader of its output exits, so that a command reaches all pools and ends with
   * its exit code; missing if unsupported.
   */
  seeThrough?(): void;
  /** The size of the terminal; missing without a terminal. */
  columns?(): number;
  rows?(): number;
  /** The directory that relative paths start from. */
  directory: string;
  env: Record<string, string | undefined>;
}

/** Returns the terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  let read: Promise<string> | undefined;
  let isSeenThrough = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.exit(1);
    // A reader such as `head` may close the output early, which is not an error. The process then ends, unless it has
    // changed some of several pools or objects, and must change the others too.
    if (!isSeenThrough) process.exit(0);
  });
  // A closed stderr does not end the process: the exit code still reports a failure.
  stderr.on("error", (error: NodeJS.ErrnoException) => void (error.code === "EPIPE" || process.exit(1)));
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isWatched: stdout.isTTY === true,
    isErrWatched: stderr.isTTY === true,
    // Standard input is read once, because profile and MachineDeployment may come in one stream.
    readStdin: () => read ??= readBounded(stdin, "standard input"),
    ...(stdin.isTTY && stderr.isTTY
      ? { ask: (question: string) => askOn({ input: stdin, output: stderr }, question) }
      : {}),
    seeThrough: () => void (isSeenThrough = true),
    columns: () => stdout.columns,
    rows: () => stdout.rows,
    // `deno task` changes to the project's root and sets INIT_CWD to the original directory.
    directory: env["INIT_CWD"] ?? process.cwd(),
    env,
  };
}

/** Styles a text on a terminal, unless NO_COLOR is set. */
export function styled({ isWatched, env }: Terminal, style: Style, text: string): string {
  return isWatched && !env["NO_COLOR"] && env["TERM"] !== "dumb"
    ? styleText(style, text, { validateStream: false })
    : text;
}

/** Returns the name of the program for suggested commands: "kubectl ostler" as a plugin of kubectl, else "ostler". */
export function calledAs({ env }: Terminal): string {
  return env["OSTLER_CALLED_AS"] || "ostler";
}

/** The streams of a question. */
export interface Asking {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Whether keys arrive one by one; by default if the output is a terminal. */
  terminal?: boolean;
}

/** Asks a question and returns the answer; "" after Ctrl-C or Ctrl-D. */
export async function askOn(streams: Asking, question: string): Promise<string> {
  const lines = createInterface(streams);
  return await new Promise((resolve) => {
    const leave = (): void => {
      streams.output.write("\n"); // the next message begins a line
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
