/** Which machines of those that are updated where they stand are replaced instead, as far as a policy leaves it open. */
import type { OsFinding, OsRefusal, PoolSnapshot, Rules } from "../contracts/mod.ts";

type Reason = OsRefusal | OsFinding["kind"];

/** What is a machine's own. Another one in its stead would meet all else as well, and what a later version may tell is left. */
const own: readonly Reason[] = [
  ...["DiskFull", "BootSpace", "OtherUpdater", "LayeredPackages", "PullStalled"] as const,
  ...["DriverMissing", "DriverFailed", "NotStaged", "NothingToGoBackTo"] as const,
];

/** It says that it is the machine, and not the image. */
export function isOwnRefusal(reason: Reason): boolean {
  return own.includes(reason);
}

/** The policy says so. */
export function replacesRefused(rules: Pick<Rules, "onImageChange"> | undefined): boolean {
  return rules?.onImageChange === "ReplaceIfRefused";
}

/** The pool, in which machines that may be replaced are ready to be taken where the policy says so; else they stay as they are. */
export function withReplaceable(pool: PoolSnapshot, rules: Pick<Rules, "onImageChange">): PoolSnapshot {
  if (!replacesRefused(rules) || !pool.old.some(({ replaceable }) => replaceable)) return pool;
  const old = pool.old.map((member) => {
    const { kept: _, ...rest } = member;
    return member.replaceable ? { ...rest, staged: true as const } : member;
  });
  return { ...pool, old };
}
