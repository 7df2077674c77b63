/** Which machines are replaced instead of updated in place, if the policy allows that. */
import type { Member, OsFinding, OsRefusal, PoolSnapshot, Rules } from "../contracts/mod.ts";

type Reason = OsRefusal | OsFinding["kind"];

/**
 * Reasons that concern one machine only. For any other known reason, a new machine would refuse the image too; an
 * unknown reason proves nothing about the machine.
 */
const own: readonly Reason[] = [
  ...["DiskFull", "BootSpace", "OtherUpdater", "LayeredPackages", "PullStalled"] as const,
  ...["DriverMissing", "DriverFailed", "NotStaged", "NothingToGoBackTo"] as const,
];

/** Returns whether the reason is about the machine, not about the image. */
export function isOwnRefusal(reason: Reason): boolean {
  return own.includes(reason);
}

/** Returns whether the policy replaces machines that refuse an update in place. */
export function replacesRefused(rules: Pick<Rules, "onImageChange"> | undefined): boolean {
  return rules?.onImageChange === "ReplaceIfRefused";
}

/**
 * If the policy permits replacements, returns the snapshot with replaceable machines marked as staged, so that the
 * planner gives them a slot like machines to be updated; otherwise returns the same snapshot.
 */
export function withReplaceable(pool: PoolSnapshot, rules: Pick<Rules, "onImageChange">): PoolSnapshot {
  if (!replacesRefused(rules) || !pool.old.some(({ replaceable }) => replaceable)) return pool;
  return { ...pool, old: replaceableAmong(pool.old, rules) };
}

/** Like `withReplaceable`, for a list of machines. */
export function replaceableAmong(members: readonly Member[], rules: Pick<Rules, "onImageChange">): Member[] {
  if (!replacesRefused(rules)) return [...members];
  return members.map((member) => {
    const { kept: _, ...rest } = member;
    return member.replaceable ? { ...rest, staged: true as const } : member;
  });
}
