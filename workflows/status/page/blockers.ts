/** The pods that block a drain in words, for Events and conditions; pure. */
import type { Blocker } from "../../contracts/mod.ts";

/** Returns the first pod with its owner and the cause, and the number of the others; "" without a pod. */
export function blockersText([first, ...rest]: readonly Blocker[]): string {
  if (!first) return "";
  const { pod, owner, why } = first;
  const whose = owner === "" ? "" : ` of ${owner}`;
  const more = rest.length > 0 ? ` and ${rest.length} more` : "";
  return `pod "${pod}"${whose} (${why})${more}`;
}
