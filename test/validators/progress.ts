// deno-lint-ignore-file no-console -- a long matrix has to show that it goes on

/** Prints the progress of a long run. */
export function tellProgress(line: string): void {
  console.error(`  ${line}`);
}
