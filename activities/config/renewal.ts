/**
 * When credentials are renewed, so that no machine boots with any that have less than half of their life left:
 * they are due at a third of it at the latest, and looked at so often that two looks in a row may fail. Pools that were
 * made at once are due at different times, each at its own part of a life, so that they drift further apart.
 */
import { createHash } from "node:crypto";

/** Parts of a life between which credentials fall due. */
const dueAfter = { earliest: 1 / 6, latest: 1 / 3 };
/** Looks in one life: 1/3 and three looks later are 11/24, which leaves 1/24 for the renewal itself. */
const looksPerLife = 24;
const longestPauseMs = 3_600_000;
/** Part of the asked life below which a given one is too short for the looks that were planned. */
const leastGiven = 3 / 4;

/** Milliseconds, in whole seconds, between two looks at credentials that live so long. */
export function lookEveryMs(lifeSeconds: number): number {
  return Math.min(Math.floor(lifeSeconds / looksPerLife) * 1000, longestPauseMs);
}

/** When credentials of a pool, as "namespace/name", are due, of the life that was given. */
export function dueAt(pool: string, { issuedAt, expiresAt }: { issuedAt: Date; expiresAt: Date }): Date {
  return new Date(issuedAt.getTime() + (expiresAt.getTime() - issuedAt.getTime()) * partOf(pool));
}

/** When credentials of a pool were issued that are due and end then; all in epoch ms. */
export function issuedAt(pool: string, { renewAt, expiresAt }: { renewAt: number; expiresAt: number }): number {
  const part = partOf(pool);
  return Math.round((renewAt - expiresAt * part) / (1 - part));
}

/** Of a life, after which credentials of a pool are due. */
function partOf(pool: string): number {
  const { earliest, latest } = dueAfter;
  return latest - (latest - earliest) * placeOf(pool);
}

/** Always the same number from 0 to 1 for a pool, and another one for each. */
function placeOf(pool: string): number {
  return createHash("sha256").update(pool).digest().readUInt32BE(0) / 2 ** 32;
}

/** An API server may give a shorter life than it was asked for; says whether the planned looks still suffice. */
export function isLongEnough(givenSeconds: number, askedSeconds: number): boolean {
  return givenSeconds >= askedSeconds * leastGiven;
}
