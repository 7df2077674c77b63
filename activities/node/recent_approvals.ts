/**
 * Remembers recently approved node names. A token holder can read which names others request, so a second request for a
 * name must wait: until the Node exists, nothing else shows that the first request was approved for the name.
 */

/** Milliseconds for which a request keeps a node's name; a kubelet registers within seconds of its certificate. */
const givenMs = 5 * 60_000;

interface Given {
  /** Name of the certificate request. */
  request: string;
  /** Time of the approval (epoch ms). */
  at: number;
}

/**
 * Approvals that the API server reported, and approvals by this process that the API server may not have reported yet.
 */
export class RecentApprovals {
  readonly #given = new Map<string, Given>();

  /** Records an approval that exists in the cluster. */
  note(node: string, given: Given): void {
    if (given.at + givenMs <= Date.now() || (this.#given.get(node)?.at ?? 0) >= given.at) return;
    this.#given.set(node, given);
  }

  /**
   * Reserves a node's name for a request, and returns undefined; if another request has the name, returns that request.
   * A reservation remains if the approval fails, because the response may have been lost after the approval. The same
   * request may reserve its name again.
   */
  take(node: string, request: string): string | undefined {
    const now = Date.now();
    for (const [name, { at }] of this.#given) if (at + givenMs <= now) this.#given.delete(name);
    const other = this.#given.get(node);
    if (other && other.request !== request) return other.request;
    this.#given.set(node, { request, at: now });
    return undefined;
  }
}
