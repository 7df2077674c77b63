// deno-lint-ignore-file no-console -- a long matrix prints its progress

/** Prints the progress of a long run. */
export function tellProgress(line: string): void {
  console.error(`  ${line}`);
}
