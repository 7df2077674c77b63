/** What `ostler setup`, `adopt` and `release` found or did, one line each. */

/** `Present`: it was there; `Wanted`: a dry run would do it; `Refused`: somebody has to do something by hand. */
export type Outcome = "Present" | "Created" | "Changed" | "Removed" | "Wanted" | "Unknown" | "Refused";

export interface Step {
  /** What it is about, such as `namespace "fleet"`. */
  about: string;
  outcome: Outcome;
  /** In words, after "about: ". */
  message: string;
}

/** How it is done. */
export interface Manner {
  /** Nothing is written. */
  dryRun: boolean;
}
