/** How often a drain looks: often while pods go, seldom while all that are left stay. */
import type { V1Pod } from "@kubernetes/client-node";
import { isEnding } from "./drained_pods.ts";

const first = 1_000;
/** While pods end, which takes as long as they were given. */
const longestEnding = 5_000;
/** While every pod that is left is kept by something: a watch tells when its budget changes. */
const longestBlocked = 30_000;

export class DrainPace {
  #seen = "";
  #restMs = first;

  /** Milliseconds until the next look. */
  get restMs(): number {
    return this.#restMs;
  }

  /** Notes what a look has found: the pods that remain, and the key of what keeps them. */
  note(pods: readonly V1Pod[], key: string): void {
    const state = JSON.stringify([key, pods.map((pod) => [pod.metadata?.uid, isEnding(pod)])]);
    const longest = key === "" || pods.some(isEnding) ? longestEnding : longestBlocked;
    this.#restMs = state === this.#seen ? Math.min(longest, this.#restMs * 1.5) : first;
    this.#seen = state;
  }
}
