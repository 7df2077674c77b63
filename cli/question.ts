import { createInterface } from "node:readline";

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
