import { deepEqual } from "node:assert/strict";
import { votesText } from "../../../../../workflows/status/page/votes.ts";

const cases: [what: string, voters: number, healthy: number, quorum: number, state: string, text: string][] = [
  ["one member", 1, 1, 1, "Critical", "1 of 1 voting, quorum 1, none may fail"],
  ["three members", 3, 3, 2, "Well", "3 of 3 voting, quorum 2, one may fail"],
  ["three members of which one is lost", 3, 2, 2, "Critical", "2 of 3 voting, quorum 2, none may fail"],
  ["three members of which two are lost", 3, 1, 2, "Lost", "1 of 3 voting, quorum 2: etcd has lost its quorum"],
  ["five members", 5, 5, 3, "Well", "5 of 5 voting, quorum 3, two may fail"],
  ["thirteen members", 13, 13, 7, "Well", "13 of 13 voting, quorum 7, 6 may fail"],
  ["unknown members", 0, 0, 0, "Unknown", "members are unknown"],
];

for (const [what, voters, healthy, quorum, state, text] of cases) {
  Deno.test(`votesText: describes the quorum of ${what}`, () =>
    deepEqual(votesText({ voters, healthy, quorum }), { state, text }));
}
