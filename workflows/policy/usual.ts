/** How long things usually take in a pool, from what was measured lately. */

/** Milliseconds in which nine of ten replacements end; null while nothing was measured. */
export function usualReplacement({ join, leave }: { join: number[]; leave: number[] }): number | null {
  if (join.length === 0) return null;
  return Math.round((quantile(join, 0.9) + (leave.length > 0 ? quantile(leave, 0.9) : 0)) * 1000);
}

/** The value below which the share `q` of the samples lies; 0 without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
