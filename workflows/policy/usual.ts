/** How long things usually take in a pool, from what was measured lately. */

/** Milliseconds in which nine of ten replacements end, the slowest left out where there are few; null without any. */
export function usualReplacement({ join, leave }: { join: number[]; leave: number[] }): number | null {
  if (join.length === 0) return null;
  return Math.round((usually(join) + usually(leave)) * 1000);
}

// One that was held up for hours is not what is usual, however few there are to compare it with.
function usually(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const most = sorted.length > 2 ? Math.min(sorted.length - 1, Math.ceil(0.9 * sorted.length)) : sorted.length;
  return sorted[most - 1] ?? 0;
}

/** The value below which the share `q` of the samples lies; 0 without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
