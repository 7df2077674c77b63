/** Results of the steps of `ostler setup`, `adopt` and `release`, one line each. */

/**
 * `Present`: already so, and unchanged; `Wanted`: only reported by this dry run, and done by a real run; `Unknown`: not
 * checked; `Warned`: a risk; `Refused`: the user must act.
 */
export type Outcome = "Present" | "Created" | "Changed" | "Removed" | "Wanted" | "Unknown" | "Warned" | "Refused";

export interface Step {
  /** The subject, such as `namespace "fleet"`. */
  about: string;
  outcome: Outcome;
  /** Result as text, printed after "about: ". */
  message: string;
}

/** Options of a step. */
export interface Manner {
  /** Whether to report the step without writing anything. */
  dryRun: boolean;
}
