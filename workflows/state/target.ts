/** The desired state, its rules, and the publication for it. */
import type { CarriedTarget, Desired, Publication, Rendering, Rules } from "../contracts/mod.ts";

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
  /** Whether all objects created for the pool have been deleted. */
  cleanedUp: boolean;
  /** The template for which machines are replaced because they could not be kept; "" for none. */
  replacedFor: string;
  /** The template whose machines are about to be kept, since when (epoch ms) machine-controller has to adopt it. */
  keeping: { templateHash: string; since: number } | undefined;
}

/** Returns the state before the first read. */
export function freshTarget(now: number): CarriedTarget {
  return { change: "", startedAt: now, startedFor: "", begun: null };
}

/** Continues with the target of the previous run; the run reads the rest. */
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
    cleanedUp: false,
    replacedFor: "",
    keeping: undefined,
  };
}

/** Returns whether the desired spec is the last good one. */
export function isLastGood({ desired }: Readonly<Target>, lastGood: { specHash: string } | null): boolean {
  return desired?.specHash === lastGood?.specHash;
}
