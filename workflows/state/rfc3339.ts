/** Times as people read them. */

/** Epoch milliseconds as RFC 3339. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
