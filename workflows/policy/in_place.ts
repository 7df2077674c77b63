/** How machines are updated where they stand, as far as a policy leaves it open; and what lately came of them. */
import type { InPlaceRules, Lately, Member, PoolSnapshot, Rules, StageOutcome } from "../contracts/mod.ts";

const minute = 60_000;

/** What holds where a policy says nothing. */
export const defaultInPlace: InPlaceRules = { stageAtOnce: 5, stage: 30 * minute, boot: 25 * minute, soak: 0 };

/** Its rules, with defaults. */
export function inPlaceOf(rules: Pick<Rules, "inPlace"> | undefined): InPlaceRules {
  return { ...defaultInPlace, ...rules?.inPlace };
}

/** How often a machine is asked that says why it cannot stage. */
const askedAtMost = 5;
/** Reasons that may be over by the next time; all others say the same again. */
const passing: readonly string[] = ["PullStalled", "DriverFailed"];
/** Who does not answer, machine or registry, says nothing of the image: it is asked until the time is over. */
const away = "RegistryUnreachable";

/** Whether it is worth asking again, after it was asked so many times. */
export function mayPass(
  seen: StageOutcome,
  asked: number,
): seen is StageOutcome & { outcome: "Refused" | "Unknown" } {
  if (seen.outcome === "Unknown") return true;
  if (seen.outcome !== "Refused") return false;
  return seen.reason === away || (passing.includes(seen.reason) && asked < askedAtMost);
}

/** For so long (ms) a look may not have seen what came of a machine: what it shows later has come about since. */
const lateMs = 60_000;

/** What is still worth knowing at `now` (epoch ms): neither told by the look nor too old. */
export function stillNews(
  lately: Readonly<Record<string, Lately>>,
  { old, stale }: PoolSnapshot,
  now: number,
): Record<string, Lately> {
  const shown = new Map([...old, ...stale].map((member) => [member.id, member]));
  const isNews = ([id, { is, at }]: [string, Lately]): boolean => {
    const member = shown.get(id);
    if (!member || now - at > lateMs) return false;
    if (is === "Failed" && member.replaceable) return true; // it has failed since
    return is === "Updated" || (is === "Staged" ? !member.staged : member.kept !== "Failed");
  };
  return Object.fromEntries(Object.entries(lately).filter(isNews));
}

/** The pool as it is with what is known beyond the look: who is updated is not old, and waves must not go too far. */
export function withLately(
  pool: PoolSnapshot,
  lately: Readonly<Record<string, Lately>>,
  templateHash: string,
): PoolSnapshot {
  const of = ({ id }: Member): Lately["is"] | undefined =>
    lately[id]?.templateHash === templateHash ? lately[id].is : undefined;
  // One that has something to boot again has come to that since.
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
    // Its cordon has been lifted, or stays on purpose.
    stale: pool.stale.filter((member) => of(member) === undefined),
    counts: {
      ...counts,
      old: counts.old - updated.length,
      updated: counts.updated + updated.length,
      updatedReady: counts.updatedReady + ready,
    },
  };
}
