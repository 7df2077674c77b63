import { CommandFailure, exitCodeOf } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { poolName } from "./pools.ts";

/** Tells why a command failed for one of several pools, and gives the exit code that belongs to it; the others go on. */
export function tellFailure(terminal: Terminal, about: PoolRef | undefined, error: unknown): number {
  terminal.err(`${about === undefined ? "" : `${poolName(about)}: `}${textOf(error)}\n`);
  return exitCodeOf(error);
}

// What nobody foresaw is told with its place, for whoever mends it.
function textOf(error: unknown): string {
  if (error instanceof CommandFailure) return error.message;
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
