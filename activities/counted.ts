/** Returns a number with its noun: "1 pod", "3 pods", "0 pods". Workflows have a function of their own for this. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
