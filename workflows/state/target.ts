/** The desired state, its rules, and the publication for it. */
import type { CarriedMemory, CarriedTarget, Desired, Publication, Rendering, Rules } from "../contracts/mod.ts";

export interface Target extends CarriedTarget {
  desired: Desired | undefined;
  rules: Rules | undefined;
  rendering: Rendering | undefined;
  publication: Publication | undefined;
  /** The expiry of the published credentials, also while the desired state cannot be published. */
  credentials: Pick<Publication, "expiresAt" | "renewAt"> | undefined;
  /** Whether this run has tried to read and publish the pool in one step. */
  opened: boolean;
  /** Whether this run has read the desired state, so that commands can be validated. */
  known: boolean;
  /** Whether the previous run ended without reporting its end on the Rollout. */
  isEndOwed: boolean;
  /** Whether all objects created for the pool have been deleted. */
  cleanedUp: boolean;
  /**
   * Hash of the template for which machines are replaced, because they could not be kept as `onImageChange` requires;
   * "" for none.
   */
  replacedFor: string;
  /**
   * The template with which machine-controller keeps the machines, and since when the run has waited until
   * machine-controller has observed that template (epoch ms).
   */
  keeping: { templateHash: string; since: number } | undefined;
}

/** Returns the state before the first read. */
export function freshTarget(now: number): CarriedTarget {
  // `stamped` begins with null because readCarried keeps any value in its place, and the value can be a text or a flag.
  return { change: "", template: "", stamped: null, startedAt: now, startedFor: "", begun: null };
}

/** Continues with the target of the previous run; this run reads the fields again that are not carried. */
export function openTarget(carried: CarriedTarget): Target {
  return {
    ...carried,
    desired: undefined,
    rules: undefined,
    rendering: undefined,
    publication: undefined,
    credentials: undefined,
    opened: false,
    known: false,
    isEndOwed: false,
    cleanedUp: false,
    replacedFor: "",
    keeping: undefined,
  };
}

/** The identities of a desired state, with its config (`specHash`) and without (`templateHash`). */
export type Spec = Pick<Desired, "specHash" | "templateHash">;

type Remembered = Readonly<Pick<CarriedMemory, "lastGood" | "rollback">>;

/**
 * Returns whether the desired spec is the last good one. During a rollback to another template, that template is the
 * last good one whatever profile it has: an edit of the profile does not end a rollback.
 */
export function isLastGood({ desired }: { desired?: Spec | undefined }, { lastGood, rollback }: Remembered): boolean {
  if (desired?.specHash === lastGood?.specHash) return true;
  return isToOtherTemplate({ lastGood, rollback }) && desired?.templateHash === lastGood?.templateHash;
}

/** Returns whether the change that is rolled back is desired again, also with another profile. */
export function isBadAgain({ specHash, templateHash }: Spec, { lastGood, rollback }: Remembered): boolean {
  if (specHash === rollback?.bad.specHash) return true;
  return isToOtherTemplate({ lastGood, rollback }) && templateHash === rollback?.bad.templateHash;
}

// Returns whether a rollback is in progress that changes the template. If a rollback only restores the profile, a
// further edit of the profile is a new change.
function isToOtherTemplate({ lastGood, rollback }: Remembered): boolean {
  return rollback !== null && rollback.bad.templateHash !== "" && lastGood !== null &&
    rollback.bad.templateHash !== lastGood.templateHash;
}
