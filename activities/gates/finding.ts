/** The result of one evaluation of a gate, and the measurement in words. */
export interface Finding {
  /**
   * True and False are measurements. Unknown means that nothing could be measured, which is neither success nor
   * failure. Failed is a False that no later evaluation can change.
   */
  state: "True" | "False" | "Unknown" | "Failed";
  message: string;
}

/** Names the first few of a list and counts the rest, so that a message stays short in a pool of any size. */
export function some(names: readonly string[], shown = 3): string {
  const rest = names.length - shown;
  return names.slice(0, shown).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
