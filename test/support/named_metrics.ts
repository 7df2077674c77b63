/** Ostler's metrics that a text names: an expression, a dashboard or a page. */

/** Their names, without the suffixes that Prometheus appends for a histogram. */
export function metricsIn(text: string): string[] {
  const names = [...text.matchAll(/\bostler_[a-z_]+[a-z]/g)].map(([name]) => name);
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, "")))];
}
