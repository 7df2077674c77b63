// Entry point of `deno task ostler`.
import process from "node:process";
import { closeTemplateEngines } from "../profiles/engines/kept_engines.ts";
import { runProgram } from "./program.ts";
import { processTerminal } from "./terminal.ts";

const code = await runProgram(processTerminal(), process.argv.slice(2));
await closeTemplateEngines();
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => void stream.write("", () => resolve()));
}
// An explicit exit is required: an abandoned request or connection would keep the process alive, and a shell that
// requests completions waits for the end of the process.
process.exit(code);
