import { exitCodeOf, isForeseen } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { printableLines } from "../view/printable.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { poolName } from "./pools.ts";

/**
 * Prints a failure, after the name of its pool if `about` is given, and returns its exit code. Does not throw, so that
 * a command for several pools continues with the other pools.
 */
export function tellFailure(terminal: Terminal, about: PoolRef | undefined, error: unknown): number {
  terminal.err(`${about === undefined ? "" : `${poolName(about)}: `}${textOf(error)}\n`);
  return exitCodeOf(error);
}

// An unforeseen error is printed with its stack, for developers.
function textOf(error: unknown): string {
  if (isForeseen(error)) return printableLines(error.message);
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
