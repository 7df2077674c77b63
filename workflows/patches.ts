/**
 * The IDs of the changed steps of a rollout: a run takes a changed step only where `patched` returns true for its ID, so
 * that the histories of earlier versions still replay. An ID never changes, because histories contain it.
 */
export const patches = {
  /** `retry` and `skip`, sent as signals, are refused by other rules than in 0.1.0. */
  refusals: "refuse-retry-and-skip-by-running-tasks",
  /** A failed attempt to restore the last good template does not count as one more application of the bad change. */
  failedRestore: "do-not-count-failed-restores",
  /** A rollback that ends for a new change resets the state before the report, which may fail. */
  leftRollback: "begin-change-before-report",
  /** A slot that was requested without an answer is given back. */
  unansweredSlot: "give-back-unanswered-slot",
  /** The stamp of the template outlives continue-as-new. */
  carriedStamp: "carry-stamp",
} as const;
