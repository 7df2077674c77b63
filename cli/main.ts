// Entry point of `deno task ostler`.
import process from "node:process";
import { runProgram } from "./program.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await runProgram(processTerminal(), process.argv.slice(2));
