/** Ostler's metrics that a text names: an expression, a dashboard or a page. */

/** Returns the names of Ostler's metrics in a text, without the suffixes that Prometheus appends for a histogram. */
export function metricsIn(text: string): string[] {
  const names = [...text.matchAll(/\bostler_[a-z_]+[a-z]/g)].map(([name]) => name);
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, "")))];
}
