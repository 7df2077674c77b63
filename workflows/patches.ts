/**
 * The IDs of the changed steps of a rollout: a run takes a changed step only where `patched` returns true for its ID,
 * so that the histories of earlier versions still replay. An ID never changes, because histories contain it.
 */
export const patches = {
  /** `retry` and `skip`, sent as signals, are refused by other rules than in 0.1.0. */
  refusals: "refuse-retry-and-skip-by-running-tasks",
  /** A failed attempt to restore the last good template does not count as one more application of the bad change. */
  failedRestore: "do-not-count-failed-restores",
  /** A rollback that ends for a new change resets the state before the report, which may fail. */
  leftRollback: "begin-change-before-report",
  /** If a request for a slot of the shared budget got no answer, the run gives back the slot that it may have taken. */
  unansweredSlot: "give-back-unanswered-slot",
  /** The deletion of a machine that had not joined counts as a failed attempt to join. */
  deletedJoins: "count-deletions-before-join",
  /** Continue-as-new carries the stamp, the digest that Ostler last wrote into the template for a changed config. */
  carriedStamp: "carry-stamp",
} as const;
