/** Returns a number with its noun: "1 pod", "3 pods", "0 pods". Workflows have their own, which activities do not run. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
