/** Defaults of updates in place, retries of staging, and recent results that a pool snapshot does not show yet. */
import type { InPlaceRules, Lately, Member, PoolSnapshot, Rules, StageOutcome } from "../contracts/mod.ts";

const minute = 60_000;

/** Values for fields that a policy does not set. */
export const defaultInPlace: InPlaceRules = { stageAtOnce: 5, stage: 30 * minute, boot: 25 * minute, soak: 0 };

/** Returns the rules of updates in place, with defaults for fields that the policy does not set. */
export function inPlaceOf(rules: Pick<Rules, "inPlace"> | undefined): InPlaceRules {
  return { ...defaultInPlace, ...rules?.inPlace };
}

/** Maximum number of attempts to stage an image on a machine that refuses the image for a temporary reason. */
const maxAttempts = 5;
/** Temporary reasons of a refusal, which may be gone at the next attempt; all others but `unreachable` are lasting. */
const passing: readonly string[] = ["PullStalled", "DriverFailed"];
/** An unreachable registry proves nothing about the image, so staging is retried until its deadline. */
const unreachable = "RegistryUnreachable";

/** Returns whether staging is worth a retry after `asked` attempts. */
export function mayPass(
  seen: StageOutcome,
  asked: number,
): seen is StageOutcome & { outcome: "Refused" | "Unknown" } {
  if (seen.outcome === "Unknown") return true;
  if (seen.outcome !== "Refused") return false;
  return seen.reason === unreachable || (passing.includes(seen.reason) && asked < maxAttempts);
}

/**
 * Time (ms) after which a pool snapshot shows a machine's result; if the snapshot differs even then, the machine has
 * changed since.
 */
const lateMs = 60_000;

/**
 * Returns the recent results that are still needed at `now` (epoch ms), because the snapshot does not show them yet.
 */
export function stillNews(
  lately: Readonly<Record<string, Lately>>,
  { old, stale }: PoolSnapshot,
  now: number,
): Record<string, Lately> {
  const shown = new Map([...old, ...stale].map((member) => [member.id, member]));
  const isNeeded = ([id, { is, at }]: [string, Lately]): boolean => {
    const member = shown.get(id);
    if (!member || now - at > lateMs) return false;
    if (is === "Failed" && member.replaceable) return true; // the machine failed after the snapshot
    return is === "Updated" || (is === "Staged" ? !member.staged : member.kept !== "Failed");
  };
  return Object.fromEntries(Object.entries(lately).filter(isNeeded));
}

/**
 * Returns the snapshot with recent results applied. Machines whose update has just ended count as updated, so that a
 * wave updates no more machines than it may.
 */
export function withLately(
  pool: PoolSnapshot,
  lately: Readonly<Record<string, Lately>>,
  templateHash: string,
): PoolSnapshot {
  const of = ({ id }: Member): Lately["is"] | undefined =>
    lately[id]?.templateHash === templateHash ? lately[id].is : undefined;
  // A machine with a staged image was staged again after its update, so it counts as old.
  const isUpdated = (member: Member): boolean => of(member) === "Updated" && !member.staged;
  const updated = pool.old.filter(isUpdated);
  const ready = updated.filter(({ phase }) => phase === "Ready").length;
  const old = pool.old.filter((member) => !isUpdated(member)).map((member): Member => {
    const is = of(member);
    if (is === undefined || is === "Updated") return member;
    return { ...member, ...(is === "Staged" ? { staged: true } : { kept: "Failed" }) };
  });
  const { counts } = pool;
  return {
    ...pool,
    old,
    // A machine with a recent result is not stale: it was uncordoned, or stays cordoned on purpose.
    stale: pool.stale.filter((member) => of(member) === undefined),
    counts: {
      ...counts,
      old: counts.old - updated.length,
      updated: counts.updated + updated.length,
      updatedReady: counts.updatedReady + ready,
    },
  };
}
