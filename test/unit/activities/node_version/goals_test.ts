import { deepEqual, equal } from "node:assert/strict";
import { PendingNode } from "../../../../activities/kube/update_kinds.ts";
import { isJoinOf } from "../../../../activities/node_version/classify.ts";
import { type PendingFacts, verdictOn } from "../../../../activities/backends/scaling_group/old_records.ts";

const now = 1_000_000;
const plain: PendingFacts = {
  ...{ goal: "Join", deadline: now + 60_000, since: now - 300_000, state: "Ready", wasSeen: true },
  ...{ hasNode: true, isWanted: true },
};
const past = { deadline: now - 1 };

const cases: [string, Partial<PendingFacts>, string][] = [
  ["R2 goal Join, when there is no node yet", { hasNode: false }, "Wait"],
  ["R3, K13 goal Join, when the instance failed", { state: "Failed" }, "Remove"],
  ["R4 goal Join, when node and instance exist", {}, "Joined"],
  ["D2 goal Join, when node and instance exist after its deadline", past, "Joined"],
  ["R5 goal Leave, when the instance still exists", { goal: "Leave" }, "Wait"],
  ["R6 goal Leave, when the instance is terminated", { goal: "Leave", state: "Terminated" }, "Gone"],
  ["D1 goal Join, when the instance is being created", { state: "Creating", hasNode: false }, "Wait"],
  ["D1 goal Join, when the instance is still being created after its deadline", {
    ...past,
    state: "Creating",
    hasNode: false,
  }, "Remove"],
  ["D3, K7 goal Leave, when the instance still exists after its deadline", { goal: "Leave", ...past }, "Remove"],
  ["K1 goal Join, when its target was abandoned", { isWanted: false }, "Gone"],
  ["K11 goal Join, when the instance has vanished", { state: "Absent", hasNode: false }, "Gone"],
  [
    "K11 goal Join, when the instance has vanished after its deadline",
    { ...past, state: "Absent", hasNode: false },
    "Gone",
  ],
  ["K12 goal Join, when the cloud does not list the new instance yet", {
    state: "Absent",
    wasSeen: false,
    since: now - 1_000,
    hasNode: false,
  }, "Wait"],
  [
    "K12 goal Join, when the cloud never listed the instance",
    { state: "Absent", wasSeen: false, hasNode: false },
    "Gone",
  ],
];

for (const [what, facts, step] of cases) {
  Deno.test(`verdictOn: returns ${step} for ${what}`, () => equal(verdictOn({ ...plain, ...facts }, now).step, step));
}

Deno.test("verdictOn: requests the next read at the deadline of a PendingNode, or after 30 s without a deadline", () => {
  const waiting = { ...plain, hasNode: false };
  deepEqual(verdictOn(waiting, now), { step: "Wait", until: now + 60_000 });
  deepEqual(verdictOn({ ...waiting, deadline: undefined }, now), { step: "Wait", until: now + 30_000 });
});

const metadata = { name: "r", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const records: [string, object, string, boolean][] = [
  [
    "FP3 is false for a PendingNode of another node",
    { spec: { nodeName: "m", goal: "Join" }, status: { cspState: "Ready" } },
    "n",
    false,
  ],
  [
    "FP4 is false for a PendingNode with goal Leave",
    { spec: { nodeName: "n", goal: "Leave" }, status: { cspState: "Ready" } },
    "n",
    false,
  ],
  [
    "FP5 is false while the instance is being created",
    { spec: { nodeName: "n", goal: "Join" }, status: { cspState: "Creating" } },
    "n",
    false,
  ],
  [
    "FP6 is true for a PendingNode of the node with goal Join and a Ready instance",
    { spec: { nodeName: "n", goal: "Join" }, status: { cspState: "Ready" } },
    "n",
    true,
  ],
];

for (const [what, record, node, wanted] of records) {
  Deno.test(`isJoinOf: ${what}`, () => equal(isJoinOf(PendingNode.parse({ metadata, ...record }), node), wanted));
}
