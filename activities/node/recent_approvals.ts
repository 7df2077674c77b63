/**
 * Which names of nodes were just given away. Whoever has a token may read which names others ask for, so that a second key for
 * one must wait: until the Node is there, nothing else tells that the first one has it.
 */

/** Milliseconds; a kubelet registers within seconds of its certificate. */
export const givenMs = 5 * 60_000;

interface Given {
  /** Name of the certificate request. */
  request: string;
  /** Epoch ms. */
  at: number;
}

/** What the API server tells of approvals, and those of this process that it may not have told of yet. */
export class RecentApprovals {
  readonly #given = new Map<string, Given>();

  /** Takes note of an approval that stands in the cluster. */
  note(node: string, given: Given): void {
    if (given.at + givenMs <= Date.now() || (this.#given.get(node)?.at ?? 0) >= given.at) return;
    this.#given.set(node, given);
  }

  /**
   * Gives the name to a request; else tells which other one has it. One that took it keeps it, approved or not: an answer
   * that was lost may have been a yes, and it comes again under its own name.
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
