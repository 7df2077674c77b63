/**
 * Decides when credentials are renewed, so that every machine boots with credentials that have at least half of their
 * lifetime left. Credentials are due after a third of the lifetime at the latest, and are checked so often that two
 * consecutive checks may fail. Each pool is due at its own fraction of the lifetime, so that the renewals of pools that
 * were created at the same time are spread over time.
 */
import { createHash } from "node:crypto";

/** Fractions of a lifetime between which credentials become due. */
const dueAfter = { earliest: 1 / 6, latest: 1 / 3 };
/**
 * Checks per lifetime. Credentials are due at 1/3 of their lifetime at the latest; if the next two checks fail, the
 * third check, at 11/24 at the latest, leaves 1/24 for the renewal before half of the lifetime has passed.
 */
const looksPerLife = 24;
const longestPauseMs = 3_600_000;
/** Fraction of the requested lifetime below which a granted one is too short for the planned checks. */
const leastGiven = 3 / 4;

/** Returns the milliseconds, a multiple of 1000, between two checks of credentials with that lifetime. */
export function lookEveryMs(lifeSeconds: number): number {
  return Math.min(Math.floor(lifeSeconds / looksPerLife) * 1000, longestPauseMs);
}

/** Returns when the renewal of credentials is due; `pool` is "namespace/name". */
export function dueAt(pool: string, { issuedAt, expiresAt }: { issuedAt: Date; expiresAt: Date }): Date {
  return new Date(issuedAt.getTime() + (expiresAt.getTime() - issuedAt.getTime()) * partOf(pool));
}

/** Returns when credentials of a pool with these times were issued; all in epoch ms. */
export function issuedAt(pool: string, { renewAt, expiresAt }: { renewAt: number; expiresAt: number }): number {
  const part = partOf(pool);
  return Math.round((renewAt - expiresAt * part) / (1 - part));
}

/** Returns the fraction of a lifetime after which credentials of a pool are due. */
function partOf(pool: string): number {
  const { earliest, latest } = dueAfter;
  return latest - (latest - earliest) * placeOf(pool);
}

/** Returns a number from 0 to 1 that never changes for a pool, and differs between pools. */
function placeOf(pool: string): number {
  return createHash("sha256").update(pool).digest().readUInt32BE(0) / 2 ** 32;
}

/** Returns whether a granted lifetime, which may be shorter than requested, suffices for the planned checks. */
export function isLongEnough(givenSeconds: number, askedSeconds: number): boolean {
  return givenSeconds >= askedSeconds * leastGiven;
}
