/** What becomes of a machine that is on its way into a group or out of it, as its PendingNode and the cloud tell; pure. */
import type { InstanceState } from "../clouds/driver.ts";

/** Milliseconds after an order in which a cloud may not show what it makes. */
const graceMs = 120_000;
/** Between looks at one that has no deadline, or has had its time. */
const restMs = 30_000;

export interface PendingFacts {
  goal: "Join" | "Leave";
  /** Epoch ms; none waits as long as it takes. */
  deadline: number | undefined;
  /** When the record was made (epoch ms). */
  since: number;
  /** "Absent" where the cloud knows nothing of it. */
  state: InstanceState | "Absent";
  /** The cloud has shown it before. */
  wasSeen: boolean;
  /** There is a Node of its name. */
  hasNode: boolean;
  /** That node runs what is wanted now. */
  isWanted: boolean;
}

/**
 * Joined: its record has done its work. Gone: so has the record of one that left, or of one that never came. Remove: it is to
 * be removed, again if that was asked before, and its goal is Leave from then on. Wait: until then (epoch ms) at the latest.
 */
export type PendingVerdict =
  | { step: "Joined" }
  | { step: "Gone" }
  | { step: "Remove"; why: string; until: number }
  | { step: "Wait"; until: number };

/** Judges one record at a time (epoch ms). */
export function verdictOn(facts: PendingFacts, now: number): PendingVerdict {
  return facts.goal === "Join" ? onJoin(facts, now) : onLeave(facts, now);
}

function onJoin(facts: PendingFacts, now: number): PendingVerdict {
  const { deadline, state, hasNode, isWanted } = facts;
  const until = now + restMs;
  // K12: what was ordered a moment ago may be shown nowhere yet. K11: what is gone before it joined needs no removal.
  if (isGone(facts, now)) return { step: "Gone" };
  // K13: nothing is to be waited for.
  if (state === "Failed") return { step: "Remove", why: "the cloud says that it failed", until };
  // K1: one of an older target has joined all the same, and is replaced like any other old node.
  if (hasNode && state === "Ready") return isWanted ? { step: "Joined" } : { step: "Gone" };
  if (deadline !== undefined && now >= deadline) return { step: "Remove", why: "it did not join in time", until };
  return { step: "Wait", until: deadline ?? until };
}

// K7: who leaves has left only when the cloud shows it no more; until then it is asked again.
function onLeave(facts: PendingFacts, now: number): PendingVerdict {
  const { deadline } = facts;
  if (isGone(facts, now)) return { step: "Gone" };
  if (deadline !== undefined && now < deadline) return { step: "Wait", until: deadline };
  return { step: "Remove", why: "it is still there", until: now + restMs };
}

function isGone({ state, wasSeen, since }: PendingFacts, now: number): boolean {
  if (state === "Terminated") return true;
  return state === "Absent" && (wasSeen || now >= since + graceMs);
}
