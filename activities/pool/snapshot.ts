/** The bounded picture of a pool. */
import { createHash } from "node:crypto";
import type { Member, PoolQuestion, PoolSnapshot } from "../../workflows/contracts/mod.ts";

/** What of a question decides how members are counted and listed. */
export type SnapshotQuestion = Omit<PoolQuestion, "pool">;

/** Sorts members into groups with exact counts, of which the first few are listed; pure. */
export function snapshotOf(
  members: readonly Member[],
  question: Pick<SnapshotQuestion, "templateHash" | "unproven" | "limit">,
): PoolSnapshot {
  const groups = groupsOf([...members].sort(byTurn), question.templateHash);
  const first = (group: Member[]): Member[] => group.slice(0, question.limit);
  return {
    fingerprint: fingerprintOf(members),
    counts: countsOf(groups, new Set(question.unproven)),
    old: firstOfZones(groups.old, question.limit),
    waiting: first(groups.updated.filter(isWaiting)),
    joining: first(groups.updated.filter(({ phase }) => ["Provisioning", "Booting", "Joining"].includes(phase))),
    stale: first(groups.updated.filter((member) => member.phase !== "Held" && (member.marked || member.held))),
    leaving: first(groups.leaving),
    ill: first(groups.ill),
  };
}

// As many of each zone, as the next to go may have to be of one of them.
function firstOfZones(group: Member[], limit: number): Member[] {
  const taken: Record<string, number> = {};
  return group.filter(({ zone = "" }) => (taken[zone] = (taken[zone] ?? 0) + 1) <= limit);
}

interface Groups {
  staying: Member[];
  leaving: Member[];
  updated: Member[];
  old: Member[];
  ill: Member[];
}

function groupsOf(ordered: Member[], templateHash: string): Groups {
  const staying = ordered.filter(({ phase }) => phase !== "Leaving");
  return {
    staying,
    leaving: ordered.filter(({ phase }) => phase === "Leaving"),
    updated: staying.filter((member) => member.templateHash === templateHash),
    old: staying.filter((member) => member.templateHash !== templateHash),
    ill: staying.filter(({ ill }) => ill).sort(byDue),
  };
}

function countsOf({ staying, leaving, updated, old, ill }: Groups, unproven: Set<string>): PoolSnapshot["counts"] {
  const isProven = (member: Member): boolean => isReady(member) && !unproven.has(member.id);
  return {
    machines: staying.length + leaving.length,
    updated: updated.length,
    ready: staying.filter(isProven).length,
    updatedReady: updated.filter(isProven).length,
    old: old.length,
    held: staying.filter(({ phase }) => phase === "Held").length,
    leaving: leaving.length,
    ill: ill.length,
  };
}

/** The order of going: chosen before, preferred by machine-controller, ill, no loss, oldest. */
export function byTurn(a: Member, b: Member): number {
  return Number(b.marked) - Number(a.marked) || Number(b.expendable) - Number(a.expendable) ||
    byDue(a, b) || Number(isReady(a)) - Number(isReady(b)) ||
    a.since.localeCompare(b.since) || a.id.localeCompare(b.id);
}

function byDue(a: Member, b: Member): number {
  const [one, other] = [a, b].map(({ ill }) => ill?.due ?? Infinity) as [number, number];
  return one === other ? 0 : one - other;
}

function isReady({ phase }: Member): boolean {
  return phase === "Ready";
}

function isWaiting({ phase, held }: Member): boolean {
  return phase === "Held" && held;
}

// Without times: those of an illness may move while nothing else does.
function fingerprintOf(members: readonly Member[]): string {
  const facts = members.map((member) => {
    const { id, phase, held, marked, expendable, templateHash, zone = "", ill } = member;
    return [id, phase, held, marked, expendable, templateHash, zone, ill?.why ?? ""];
  });
  return createHash("sha256").update(JSON.stringify(facts.sort())).digest("hex").slice(0, 16);
}
