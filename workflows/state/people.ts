/** What people asked for. */
import type { CarriedPeople, WaitingCommand } from "../contracts/mod.ts";

export interface People extends CarriedPeople {
  /** This run has read a plan: that of the run before may be of other machines. */
  isPlanRead: boolean;
  /** Doubts about etcd that somebody takes upon himself, as they are told; forgotten by the next run of the chain, which asks again. */
  takenDoubts: string[];
  /** Somebody asked for something that the Rollout object does not say yet. */
  heard: boolean;
}

/** More than people send in a time in which nobody can look. */
const waitingKept = 50;

/** Nobody asked for anything. */
export function freshPeople(): CarriedPeople {
  return {
    paused: null,
    abortAsked: null,
    skipped: [],
    plan: null,
    approvedPlan: "",
    approvedHash: "",
    approvedTerms: null,
    retriedAt: 0,
    waiting: [],
  };
}

/** Goes on with what people asked of the run before. */
export function openPeople(carried: CarriedPeople): People {
  return { ...carried, isPlanRead: false, takenDoubts: [], heard: false };
}

/** Keeps a command until it can be judged, also in the next run of the chain. */
export function keepWaiting(people: People, command: WaitingCommand): void {
  people.waiting = [...people.waiting, command].slice(-waitingKept);
}

/** It is judged now. */
export function endWaiting(people: People, command: WaitingCommand): void {
  people.waiting = people.waiting.filter((each) => each !== command);
}

/** Forgets which plan was approved, also of a spec that was desired before: its plan is another by now. */
export function forgetPlan(people: People): void {
  people.plan = null;
  forgetApproval(people);
}

/** The plan that waits has to be approved anew. */
export function forgetApproval(people: People): void {
  people.approvedPlan = "";
  people.approvedHash = "";
  people.approvedTerms = null;
}
