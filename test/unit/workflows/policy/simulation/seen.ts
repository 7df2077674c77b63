/** Pool snapshots of simulated machines, with an empty fingerprint, because computing one takes time. */
import type { Member, PoolSnapshot } from "../../../../../workflows/contracts/mod.ts";

/** Returns a snapshot of a pool: exact counts, and the first members of each group. */
export function pictureOf(members: Member[], { template, unproven, limit }: Look): PoolSnapshot {
  const old: Member[] = [];
  const [waiting, joining, stale, leaving, ill]: Member[][] = [[], [], [], [], []];
  const counts = { machines: 0, updated: 0, ready: 0, updatedReady: 0, old: 0, held: 0, leaving: 0, ill: 0 };
  for (const member of members) {
    const { id, phase, held, marked } = member;
    counts.machines += 1;
    if (phase === "Leaving") {
      counts.leaving += 1;
      leaving?.push(member);
      continue;
    }
    const isProven = phase === "Ready" && !(id in unproven);
    const isUpdated = member.templateHash === template;
    if (isProven) counts.ready += 1;
    if (phase === "Held") counts.held += 1;
    if (member.ill) {
      counts.ill += 1;
      ill?.push(member);
    }
    if (!isUpdated) {
      counts.old += 1;
      old.push(member);
      continue;
    }
    counts.updated += 1;
    if (isProven) counts.updatedReady += 1;
    if (phase === "Held" && held) waiting?.push(member);
    if (phase === "Booting" || phase === "Provisioning") joining?.push(member);
    if (phase !== "Held" && (held || marked)) stale?.push(member);
  }
  old.sort(byTurn);
  const first = (group: Member[] = []): Member[] => group.slice(0, limit);
  const listed = { old: first(old), waiting: first(waiting), joining: first(joining), stale: first(stale) };
  return { fingerprint: "", counts, ...listed, leaving: first(leaving?.sort(byTurn)), ill: first(ill?.sort(byDue)) };
}

interface Look {
  template: string;
  unproven: Record<string, unknown>;
  limit: number;
}

function byTurn(a: Member, b: Member): number {
  return Number(b.marked) - Number(a.marked) || byDue(a, b) ||
    Number(a.phase === "Ready") - Number(b.phase === "Ready") || (a.since < b.since ? -1 : 1);
}

function byDue(a: Member, b: Member): number {
  const [one, other] = [a.ill?.due ?? Infinity, b.ill?.due ?? Infinity];
  return one === other ? 0 : one - other;
}
