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
  ["P1 pairs a new node with an old one of its group", { ...noNodes, outdated: [node("o")], mints: [mint("m")] }, {
    pairs: [{ donor: "o", heir: "m" }],
  }],
  [
    "P2 finds no node in another group",
    { ...noNodes, outdated: [node("o", { group: "g1" })], mints: [mint("m", "g2")] },
    {},
  ],
  [
    "P3 skips a node that already has a new node",
    {
      ...noNodes,
      ...{ donors: [node("o", { heir: "x" })], heirs: [node("x", { donor: "o" })], mints: [mint("m")] },
    },
    { pairs: [{ donor: "o", heir: "x" }] },
  ],
  [
    "P4 pairs one for each new node, the first by name",
    { ...noNodes, outdated: [node("o2"), node("o1")], mints: [mint("m")] },
    { pairs: [{ donor: "o1", heir: "m" }] },
  ],
  ["P5 treats IDs in other cases as equal", { ...noNodes, outdated: [node("o")], mints: [mint("m", "G")] }, {
    pairs: [{ donor: "o", heir: "m" }],
  }],
  [
    "M1 keeps marks that both nodes have",
    { ...noNodes, donors: [node("d", { heir: "h" })], heirs: [node("h", { donor: "d" })] },
    { pairs: [{ donor: "d", heir: "h" }] },
  ],
  [
    "M2 removes marks that name other nodes",
    { ...noNodes, donors: [node("d", { heir: "other" })], heirs: [node("h", { donor: "other" })] },
    { stale: [{ node: "d", mark: "heir" }, { node: "h", mark: "donor" }] },
  ],
  ["M3 frees a new node whose old node is deleted", { ...noNodes, heirs: [node("h", { donor: "d" })] }, {
    stale: [{ node: "h", mark: "donor" }],
  }],
  [
    "M4, K3 frees an old node whose new node is deleted, beside others",
    { ...noNodes, outdated: [node("o")], donors: [node("d", { heir: "h" })] },
    { stale: [{ node: "d", mark: "heir" }] },
  ],
  [
    "keeps the new node that the old node names, of two that name the old node",
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
