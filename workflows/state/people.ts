/** What people asked for. */
import type { CarriedPeople, RolloutPlan } from "../contracts/mod.ts";

export interface People extends CarriedPeople {
  /** The plan that waits for a word, or was approved. */
  plan: RolloutPlan | undefined;
  /** Somebody asked for something that the Rollout object does not say yet. */
  heard: boolean;
}

/** Nobody asked for anything. */
export function freshPeople(): CarriedPeople {
  return {
    paused: null,
    abortAsked: null,
    skipped: [],
    approvedPlan: "",
    approvedHash: "",
    approvedTerms: null,
    retriedAt: 0,
  };
}

/** Goes on with what people asked of the run before. */
export function openPeople(carried: CarriedPeople): People {
  return { ...carried, plan: undefined, heard: false };
}

/** Forgets which plan was approved, also of a spec that was desired before: its plan is another by now. */
export function forgetPlan(people: People): void {
  people.plan = undefined;
  forgetApproval(people);
}

/** The plan that waits has to be approved anew. */
export function forgetApproval(people: People): void {
  people.approvedPlan = "";
  people.approvedHash = "";
  people.approvedTerms = null;
}
