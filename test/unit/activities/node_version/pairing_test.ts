import { deepEqual } from "node:assert/strict";
import type { MarkedNode } from "../../../../activities/node_version/marks.ts";
import { type Pairing, pairingOf } from "../../../../activities/backends/scaling_group/old_records.ts";

function node(name: string, marks: Partial<MarkedNode> = {}): MarkedNode {
  const plain = { group: "g", image: "I", components: "K", heir: "", donor: "" };
  return { name, providerId: `sim:///${name}`, ...plain, isObsolete: false, isControlPlane: false, ...marks };
}

const noNodes = { outdated: [], donors: [], heirs: [], mints: [] };
const mint = (name: string, group = "g"): { name: string; group: string } => ({ name, group });
const nothing: Pairing = { pairs: [], stale: [] };

const cases: [string, Parameters<typeof pairingOf>[0], Partial<Pairing>][] = [
  ["P1 pairs a new node with an old node of its group", { ...noNodes, outdated: [node("o")], mints: [mint("m")] }, {
    pairs: [{ donor: "o", heir: "m" }],
  }],
  [
    "P2 pairs a new node with no old node of another group",
    { ...noNodes, outdated: [node("o", { group: "g1" })], mints: [mint("m", "g2")] },
    {},
  ],
  [
    "P3 skips an old node that already has a new node",
    {
      ...noNodes,
      ...{ donors: [node("o", { heir: "x" })], heirs: [node("x", { donor: "o" })], mints: [mint("m")] },
    },
    { pairs: [{ donor: "o", heir: "x" }] },
  ],
  [
    "P4 pairs each new node with one old node, and takes old nodes in the order of their names",
    { ...noNodes, outdated: [node("o2"), node("o1")], mints: [mint("m")] },
    { pairs: [{ donor: "o1", heir: "m" }] },
  ],
  ["P5 treats group IDs that differ only in case as equal", {
    ...noNodes,
    outdated: [node("o")],
    mints: [mint("m", "G")],
  }, {
    pairs: [{ donor: "o", heir: "m" }],
  }],
  [
    "M1 keeps the annotations of an old and a new node that name each other",
    { ...noNodes, donors: [node("d", { heir: "h" })], heirs: [node("h", { donor: "d" })] },
    { pairs: [{ donor: "d", heir: "h" }] },
  ],
  [
    "M2 removes the annotations of two nodes that name other nodes",
    { ...noNodes, donors: [node("d", { heir: "other" })], heirs: [node("h", { donor: "other" })] },
    { stale: [{ node: "d", mark: "heir" }, { node: "h", mark: "donor" }] },
  ],
  ["M3 removes the annotation of a new node whose old node was deleted", {
    ...noNodes,
    heirs: [node("h", { donor: "d" })],
  }, {
    stale: [{ node: "h", mark: "donor" }],
  }],
  [
    "M4, K3 removes the annotation of an old node whose new node was deleted, and leaves other nodes unchanged",
    { ...noNodes, outdated: [node("o")], donors: [node("d", { heir: "h" })] },
    { stale: [{ node: "d", mark: "heir" }] },
  ],
  [
    "keeps the new node that the old node names, when two new nodes name the same old node",
    {
      ...noNodes,
      donors: [node("d", { heir: "h2" })],
      heirs: [node("h1", { donor: "d" }), node("h2", { donor: "d" })],
    },
    { pairs: [{ donor: "d", heir: "h2" }], stale: [{ node: "h1", mark: "donor" }] },
  ],
];

for (const [what, given, wanted] of cases) {
  Deno.test(`pairingOf: ${what}`, () => {
    deepEqual(pairingOf(given), { ...nothing, ...wanted });
    const turned = {
      ...{ outdated: given.outdated.toReversed(), donors: given.donors.toReversed() },
      ...{ heirs: given.heirs.toReversed(), mints: given.mints.toReversed() },
    };
    deepEqual(pairingOf(turned), { ...nothing, ...wanted }, "Expected the same result in any order");
  });
}
