/** A state with every part in use, as a run that continues as new gives it to the next run. */
import type { CarriedState } from "../../workflows/contracts/mod.ts";

const request = { by: "ada", reason: "incident", since: 2000 };
const bad = { ...request, specHash: "s2", templateHash: "t2", revision: "2", image: "i2", kubelet: "k2" };
const lastGood = { specHash: "s1", templateHash: "t1", revision: "1", image: "i1", kubelet: "k1", configDigest: "d1" };
const rollback = { ...request, kind: "Abort" as const, bad, reapplied: 3 };
const join = { machine: "b", node: "node-b", image: "i", kubelet: "k", joinedSeconds: 4 };
const replacement = { machine: "a", replacedBy: "b", image: "i", kubelet: "k", drainedSeconds: 1 };
const wave = { index: 1, soakUntil: 6000, passed: true, approved: true };
const countedBy = { waves: [{ upTo: 1, soak: 2 }], growth: null, replicas: 3 };
const draining = { a: { since: 4000, templateHash: "t1", image: "i", kubelet: "k" } };

export const carriedNow: CarriedState = {
  schemaVersion: 1,
  target: {
    change: "s2",
    template: "t2",
    stamped: "0123456789abcdef",
    startedAt: 1000,
    startedFor: "g7",
    begun: { templateHash: "t2", configDigest: "d2" },
  },
  people: {
    paused: request,
    abortAsked: { ...request, by: "ben" },
    skipped: ["e"],
    plan: null,
    approvedPlan: "s2",
    approvedHash: "h2",
    approvedTerms: null,
    retriedAt: 5000,
    waiting: [],
  },
  waves: { current: wave, countedBy, rolled: true, gates: null },
  machines: {
    booting: { c: { since: 3000, attempt: 1 } },
    dropped: { g: { since: 3000, attempt: 0, templateHash: "t3" } },
    draining,
    setAside: ["d"],
    repaired: ["f"],
    failed: ["x"],
    failures: 2,
    retries: [1],
    updating: {},
    lately: {},
  },
  records: { joins: [join], joined: 1, replacements: [replacement], replaced: 7 },
  slots: { held: ["b"], isUnanswered: true },
  memory: {
    recalled: true,
    quarantine: [bad],
    lastGood,
    usual: { join: [4], leave: [9] },
    lastRollback: rollback,
    rollback,
  },
  loop: { bugs: 0, bug: "" },
};
