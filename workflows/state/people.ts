/** The commands of people. */
import type { Approval, CarriedPeople, WaitingCommand } from "../contracts/mod.ts";

export interface People extends CarriedPeople {
  /** Whether this run has read a plan; the plan of the previous run may be for other machines. */
  isPlanRead: boolean;
  /**
   * The inconclusive etcd checks that a person has accepted, by their text; the next run of the chain forgets them and
   * asks again.
   */
  takenDoubts: string[];
  /** Whether a command has arrived that the Rollout object does not show yet. */
  heard: boolean;
}

/** Number of waiting commands that are kept: more than people send while the API is unavailable. */
const waitingKept = 50;

/** Returns the state without any command. */
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

/** Continues with the commands of the previous run. */
export function openPeople(carried: CarriedPeople): People {
  return { ...carried, isPlanRead: false, takenDoubts: [], heard: false };
}

/** Takes over an approval that an earlier run stored on the Rollout object. */
export function adoptApproval(people: People, { plan, templateHash, terms }: Approval): void {
  if (plan !== "") people.plan = { hash: plan, ...(terms ? { terms } : {}) };
  people.approvedPlan = templateHash;
  people.approvedHash = plan;
  people.approvedTerms = terms;
}

/** Keeps a command until it can be validated, also in the next run of the chain. */
export function keepWaiting(people: People, command: WaitingCommand): void {
  people.waiting = [...people.waiting, command].slice(-waitingKept);
}

/** Removes a command that is validated now. */
export function endWaiting(people: People, command: WaitingCommand): void {
  people.waiting = people.waiting.filter((each) => each !== command);
}

/**
 * Forgets the plan and its approval: if the same template is desired again later, its plan differs and needs a new
 * approval.
 */
export function forgetPlan(people: People): void {
  people.plan = null;
  forgetApproval(people);
}

/** Forgets the approval, so that the plan has to be approved again. */
export function forgetApproval(people: People): void {
  people.approvedPlan = "";
  people.approvedHash = "";
  people.approvedTerms = null;
}
