/** Returns a number with its noun: "1 machine", "3 machines", "0 machines". */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
