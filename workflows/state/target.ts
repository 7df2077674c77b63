/** What is desired, by which rules, and what was published for it. */
import type { CarriedTarget, Desired, Publication, Rendering, Rules } from "../contracts/mod.ts";

export interface Target extends CarriedTarget {
  desired: Desired | undefined;
  rules: Rules | undefined;
  rendering: Rendering | undefined;
  publication: Publication | undefined;
  /** The life of the credentials that stand published, also where what is desired cannot be. */
  credentials: Pick<Publication, "expiresAt" | "renewAt"> | undefined;
  /** It was seen in this run: from now on what people ask for can be judged. */
  known: boolean;
  /** What was made for the pool has been removed. */
  cleanedUp: boolean;
  /** The template that machines are replaced for, as they could not be kept; "" for none. */
  replacedFor: string;
  /** The template whose machines are about to stay, since when (epoch ms) its maker has to see that. */
  keeping: { templateHash: string; since: number } | undefined;
}

/** Nothing is known yet. */
export function freshTarget(now: number): CarriedTarget {
  return { change: "", startedAt: now, startedFor: "", begun: null };
}

/** Goes on with what the run before knew; the rest is read again. */
export function openTarget(carried: CarriedTarget): Target {
  return {
    ...carried,
    desired: undefined,
    rules: undefined,
    rendering: undefined,
    publication: undefined,
    credentials: undefined,
    known: false,
    cleanedUp: false,
    replacedFor: "",
    keeping: undefined,
  };
}

/** What is desired is what the pool came to rest with last. */
export function isLastGood({ desired }: Readonly<Target>, lastGood: { specHash: string } | null): boolean {
  return desired?.specHash === lastGood?.specHash;
}
