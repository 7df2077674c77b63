// deno-lint-ignore-file no-console -- a long matrix has to show that it goes on

/** Says how far a long run is. */
export function tellProgress(line: string): void {
  console.error(`  ${line}`);
}
