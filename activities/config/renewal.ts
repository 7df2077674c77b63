/**
 * When credentials are renewed, so that no machine boots with any that have less than half of their life left:
 * they are due at a third of it, and looked at so often that two looks in a row may fail.
 */

/** Part of a life after which credentials are due. */
const dueAfter = 1 / 3;
/** Looks in one life: 1/3 and three looks later are 11/24, which leaves 1/24 for the renewal itself. */
const looksPerLife = 24;
const longestPauseMs = 3_600_000;
/** Part of the asked life below which a given one is too short for the looks that were planned. */
const leastGiven = 3 / 4;

/** Milliseconds, in whole seconds, between two looks at credentials that live so long. */
export function lookEveryMs(lifeSeconds: number): number {
  return Math.min(Math.floor(lifeSeconds / looksPerLife) * 1000, longestPauseMs);
}

/** When credentials are due, of the life that was given. */
export function dueAt(issuedAt: Date, expiresAt: Date): Date {
  return new Date(issuedAt.getTime() + (expiresAt.getTime() - issuedAt.getTime()) * dueAfter);
}

/** An API server may give a shorter life than it was asked for; says whether the planned looks still suffice. */
export function isLongEnough(givenSeconds: number, askedSeconds: number): boolean {
  return givenSeconds >= askedSeconds * leastGiven;
}
