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
  ["R2 Join, no node", { hasNode: false }, "Wait"],
  ["R3, K13 Join, failed: no further wait", { state: "Failed" }, "Remove"],
  ["R4 Join, node and instance exist", {}, "Joined"],
  ["D2 Join, the same after its deadline", past, "Joined"],
  ["R5 Leave, still exists", { goal: "Leave" }, "Wait"],
  ["R6 Leave, terminated", { goal: "Leave", state: "Terminated" }, "Gone"],
  ["D1 Join, being created", { state: "Creating", hasNode: false }, "Wait"],
  ["D1 Join, being created after its deadline", { ...past, state: "Creating", hasNode: false }, "Remove"],
  ["D3, K7 Leave, still exists after its deadline: is requested again", { goal: "Leave", ...past }, "Remove"],
  ["K1 Join, of an abandoned target", { isWanted: false }, "Gone"],
  ["K11 Join, vanished", { state: "Absent", hasNode: false }, "Gone"],
  ["K11 Join, vanished after its deadline", { ...past, state: "Absent", hasNode: false }, "Gone"],
  ["K12 Join, not shown yet", { state: "Absent", wasSeen: false, since: now - 1_000, hasNode: false }, "Wait"],
  ["K12 Join, never shown", { state: "Absent", wasSeen: false, hasNode: false }, "Gone"],
];

for (const [what, facts, step] of cases) {
  Deno.test(`verdictOn: returns ${step} for ${what}`, () => equal(verdictOn({ ...plain, ...facts }, now).step, step));
}

Deno.test("verdictOn: reads again at the deadline, or every 30 s without one", () => {
  const waiting = { ...plain, hasNode: false };
  deepEqual(verdictOn(waiting, now), { step: "Wait", until: now + 60_000 });
  deepEqual(verdictOn({ ...waiting, deadline: undefined }, now), { step: "Wait", until: now + 30_000 });
});

const metadata = { name: "r", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const records: [string, object, string, boolean][] = [
  ["FP3 another name", { spec: { nodeName: "m", goal: "Join" }, status: { cspState: "Ready" } }, "n", false],
  ["FP4 goal Leave", { spec: { nodeName: "n", goal: "Leave" }, status: { cspState: "Ready" } }, "n", false],
  ["FP5 being made", { spec: { nodeName: "n", goal: "Join" }, status: { cspState: "Creating" } }, "n", false],
  ["FP6 found", { spec: { nodeName: "n", goal: "Join" }, status: { cspState: "Ready" } }, "n", true],
];

for (const [what, record, node, wanted] of records) {
  Deno.test(`isJoinOf: ${what}`, () => equal(isJoinOf(PendingNode.parse({ metadata, ...record }), node), wanted));
}
