/** Which new node replaces which old one, from what is written on both; pure, and the same for the same nodes in any order. */
import { same } from "./classify.ts";
import type { MarkedNode } from "./marks.ts";

export interface Pair {
  donor: string;
  heir: string;
}

export interface Pairing {
  /** Pairs that stand, and those that are made now. */
  pairs: Pair[];
  /** Marks that name nobody any more, or somebody else's partner. */
  stale: { node: string; mark: "heir" | "donor" }[];
  /** New nodes for which no old one is left in their group. */
  surplus: string[];
}

/** A new node, with the group that it was ordered for. */
export interface Mint {
  name: string;
  group: string;
}

interface Nodes {
  outdated: readonly MarkedNode[];
  donors: readonly MarkedNode[];
  heirs: readonly MarkedNode[];
  mints: readonly Mint[];
}

/** Pairs that are written on both sides stand; then each new node takes the first old one of its group that has none. */
export function pairingOf({ outdated, donors, heirs, mints }: Nodes): Pairing {
  const standing = byName(donors).flatMap((donor): Pair[] => {
    const heir = heirs.find(({ name }) => name === donor.heir);
    return heir?.donor === donor.name ? [{ donor: donor.name, heir: heir.name }] : [];
  });
  const paired = new Set(standing.flatMap(({ donor, heir }) => [donor, heir]));
  const stale: Pairing["stale"] = [
    ...byName(donors).filter(({ name }) => !paired.has(name)).map(({ name }) => ({
      node: name,
      mark: "heir" as const,
    })),
    ...byName(heirs).filter(({ name }) => !paired.has(name)).map(({ name }) => ({
      node: name,
      mark: "donor" as const,
    })),
  ];
  const free = byName(outdated);
  const made: Pair[] = [];
  const surplus: string[] = [];
  for (const mint of byName(mints)) {
    const at = free.findIndex(({ group }) => same(group, mint.group));
    const [donor] = at < 0 ? [] : free.splice(at, 1);
    if (donor) made.push({ donor: donor.name, heir: mint.name });
    else surplus.push(mint.name);
  }
  return { pairs: [...standing, ...made], stale, surplus };
}

function byName<T extends { name: string }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => a.name < b.name ? -1 : 1);
}
