import { Buffer } from "node:buffer";
import { deepEqual, equal, notEqual } from "node:assert/strict";
import { memberOf } from "../../../../activities/backends/node_pool/members.ts";
import { poolNode } from "../../../../activities/backends/node_pool/pool_nodes.ts";
import { illnessOf, neverRepaired } from "../../../../activities/node/illness.ts";
import { factsOf } from "../../../../activities/node/node_facts.ts";
import { byTurn, snapshotOf } from "../../../../activities/pool/snapshot.ts";
import type { Member, PoolSnapshot } from "../../../../workflows/contracts/mod.ts";

function member(id: string, overrides: Partial<Member> = {}): Member {
  return {
    ...{ id, templateHash: "new", image: "i", kubelet: "k", phase: "Ready", since: `2026-01-01T00:00:0${id.length}Z` },
    ...{ marked: false, held: false, expendable: false },
    ...overrides,
  };
}

function snapshot(members: Member[], question: { unproven?: string[]; limit?: number } = {}): PoolSnapshot {
  return snapshotOf(members, { templateHash: "new", unproven: [], limit: 20, ...question });
}

function ids(members: Member[]): string[] {
  return members.map(({ id }) => id);
}

function ill(due: number): Partial<Member> {
  return { phase: "NotReady", ill: { why: "not Ready", since: 0, due } };
}

const old = { templateHash: "old" };

Deno.test("snapshotOf: counts the members by state, and lists each member in the group of its state", () => {
  const { counts, ...groups } = snapshot([
    member("a", old),
    member("b", { ...old, ...ill(1) }),
    member("c", { phase: "Held", held: true }),
    member("d", { phase: "Booting" }),
    member("e", { ...old, ...ill(1), phase: "Leaving", held: true, marked: true }),
    member("f"),
    member("g", { phase: "Held" }),
    member("h", { marked: true }),
  ]);
  deepEqual(counts, {
    ...{ machines: 8, updated: 5, ready: 3, updatedReady: 2, old: 2, held: 2, leaving: 1, ill: 1 },
  });
  const { old: others, waiting, joining, stale, leaving } = groups;
  deepEqual([others, waiting, joining, stale, leaving, groups.ill].map(ids), [
    ...[["b", "a"], ["c"], ["d"], ["h"], ["e"], ["b"]],
  ]);
});

Deno.test("snapshotOf: does not count a machine as ready while it is unproven (has not passed its gates)", () => {
  const { counts } = snapshot([member("a"), member("b"), member("c", old)], { unproven: ["b", "c"] });
  deepEqual([counts.ready, counts.updatedReady, counts.updated], [1, 1, 2]);
});

Deno.test("snapshotOf: counts the unchanged machines that it does not list, by the reason", () => {
  const kept = Array.from({ length: 4 }, (_, nth) => member(`waits-${nth}`, { ...old, kept: "Wait" }));
  const skipped = member("x", { ...old, kept: "Skip", since: "2027-01-01T00:00:00Z" });
  const seen = snapshot([...kept, skipped, member("free", old)], { limit: 2 });
  deepEqual([ids(seen.old), seen.counts.old, seen.unlisted], [["free", "waits-0"], 6, { Wait: 3, Skip: 1 }]);
  equal(snapshot(kept).unlisted, undefined);
});

Deno.test("snapshotOf: lists old machines in the order of replacement: chosen, failed, unhealthy, booting, then the oldest", () => {
  const turn = snapshot([
    member("young", { ...old, since: "2026-01-02T00:00:00Z" }),
    member("aged", { ...old, since: "2026-01-01T00:00:00Z" }),
    member("booting", { ...old, phase: "Booting", since: "2026-01-03T00:00:00Z" }),
    member("ill", { ...old, ...ill(2), since: "2026-01-06T00:00:00Z" }),
    member("worse", { ...old, ...ill(1), since: "2026-01-07T00:00:00Z" }),
    member("broken", { ...old, expendable: true, since: "2026-01-04T00:00:00Z" }),
    member("chosen", { ...old, marked: true, since: "2026-01-05T00:00:00Z" }),
  ]);
  deepEqual(ids(turn.old), ["chosen", "broken", "worse", "ill", "booting", "aged", "young"]);
});

Deno.test("snapshotOf: lists unhealthy machines of any template by when they are due", () => {
  const never = Number.MAX_SAFE_INTEGER;
  const { ill: listed } = snapshot([
    member("never", ill(never)),
    member("late", { ...ill(9), marked: true }),
    member("soon", { ...old, ...ill(3) }),
  ]);
  deepEqual(ids(listed), ["soon", "late", "never"]);
});

Deno.test("snapshotOf: lists at most `limit` machines in each group, whatever the size of the pool", () => {
  const members = Array.from({ length: 500 }, (_, nth) => member(`m${nth}`, { ...old, ...ill(nth) }));
  const { counts, old: listed, ill: sick } = snapshot(members, { limit: 7 });
  deepEqual([counts.old, listed.length, counts.ill, sick.length], [500, 7, 500, 7]);
});

Deno.test("snapshotOf: keeps its fingerprint when only the order of members differs, and changes it after any change of a member", () => {
  const before = snapshot([member("a"), member("b")]).fingerprint;
  equal(snapshot([member("b"), member("a")]).fingerprint, before);
  const changes: Partial<Member>[] = [
    ...[{ phase: "NotReady" }, { held: true }, { marked: true }, { templateHash: "old" }, {
      expendable: true,
    }] as const,
    ...[{ zone: "z" }, { ill: { why: "not Ready", since: 0, due: 1 } }],
  ];
  for (const change of changes) {
    notEqual(snapshot([member("a", change), member("b")]).fingerprint, before, JSON.stringify(change));
  }
});

Deno.test("snapshotOf: keeps its fingerprint when only the due times of unhealthy machines change", () => {
  equal(snapshot([member("a", ill(1))]).fingerprint, snapshot([member("a", ill(2))]).fingerprint);
});

Deno.test("snapshotOf: lists equally many old machines of each zone, so that the planner finds a machine to remove in every zone", () => {
  const east = ["a", "b", "c"].map((id) => member(id, { ...old, zone: "east" }));
  const west = ["dd", "ee", "ff"].map((id) => member(id, { ...old, zone: "west" }));
  deepEqual(ids(snapshot([...east, ...west], { limit: 2 }).old), ["a", "b", "dd", "ee"]);
});

/**
 * Returns 10,000 old machines, spread over `zones` zones, with names as long as clouds give; the last 1,000 machines
 * have an older template than the first 9,000.
 */
function large(zones: number): Member[] {
  return Array.from({ length: 10_000 }, (_, nth) => {
    const id = `production-workers-7f9c8d5b44-${String(nth).padStart(5, "0")}`;
    return member(id, {
      ...{ node: `${id}.eu-central-1.compute.internal`, zone: `eu-central-${String(nth % zones).padStart(4, "0")}` },
      image: "docker://registry.example/kubevirt/ubuntu-22.04-node@sha256:0123456789abcdef0123456789abcdef",
      templateHash: nth >= 9_000 ? "2719871235" : "3908712345",
      since: nth >= 9_000 ? "2025-01-01T00:00:00.000Z" : "2026-01-01T00:00:00.000Z",
      ...(nth % 1_000 === 7 ? { marked: true, held: true } : {}),
    });
  });
}

for (const zones of [3, 1_000]) {
  Deno.test(`snapshotOf: for 10,000 machines in ${zones} zones stays below 256 KiB, and lists the chosen and the removable machines`, () => {
    const members = large(zones);
    const seen = snapshot(members, { limit: 2_000 });
    const bytes = JSON.stringify(seen).length;
    equal(bytes < 256 * 1024, true, `it has ${bytes} bytes`);
    equal(seen.counts.old, 10_000);
    const [firstZone] = [...new Set(members.map(({ zone = "" }) => zone))].sort();
    const isOldest = ({ templateHash }: Member): boolean => templateHash === "2719871235";
    deepEqual(seen.old.filter(({ marked }) => marked).length, 10, "Expected all chosen machines");
    const own = members.filter((each) => isOldest(each) && each.zone === firstZone).length;
    const listed = seen.old.filter((each) => isOldest(each) && each.zone === firstZone);
    equal(listed.length >= Math.min(own, 20), true, "Expected the removable machines of the first zone");
    const others = new Set(seen.old.filter(isOldest).map(({ zone }) => zone));
    equal(others.size >= Math.min(zones, 200), true, `Found removable machines of only ${others.size} zones`);
    deepEqual(seen.old, [...seen.old].sort(byTurn), "Expected the order of replacement");
  });
}

Deno.test("snapshotOf: shortens no list to make room for another", () => {
  const ailing = large(3).map((each, nth) => ({ ...each, ...ill(nth) }));
  const seen = snapshot([
    ...ailing,
    ...large(3).map((each) => ({ ...each, id: `${each.id}-x`, phase: "Leaving" as const })),
  ], {
    limit: 5_000,
  });
  const lengths = [seen.old, seen.leaving, seen.ill].map(({ length }) => length);
  equal(Math.min(...lengths) > 100, true, lengths.join());
  equal(JSON.stringify(seen).length < 256 * 1024, true);
});

Deno.test("snapshotOf: returns in `unknown` the given names that no member has, and omits the field when members have all given names", () => {
  const members = [member("a", old), member("b"), member("c", { phase: "Leaving" })];
  const ask = (named: string[]): string[] | undefined =>
    snapshotOf(members, { templateHash: "new", unproven: [], limit: 1, named }).unknown;
  deepEqual([ask(["a", "b", "c"]), ask(["b", "typo"]), ask([])], [undefined, ["typo"], undefined]);
});

Deno.test("snapshotOf: lists the newest held machine first, because an old one may have to be recreated", () => {
  const held = ["ccc", "a", "bb"].map((id) => member(id, { phase: "Held", held: true }));
  deepEqual(ids(snapshot(held).waiting), ["ccc", "bb", "a"]);
});

Deno.test("fault U7: snapshotOf: limits what machines are waiting for to 64 KiB in total, however long the texts are", () => {
  const lacks = "ü".repeat(50_000);
  const members = Array.from({ length: 500 }, (_, nth) => member(`m${nth}`, { phase: "Booting", lacks }));
  const seen = snapshot(members, { limit: 500 });
  const bytes = Buffer.byteLength(JSON.stringify(seen.lacking));
  equal(bytes > 32 * 1024 && bytes <= 64 * 1024 + 2, true, `it has ${bytes} bytes`);
});

Deno.test("snapshotOf: a node whose kubelet reports very long texts hides no other machine", () => {
  const long = "x".repeat(300_000);
  const conditions = [{ type: "Ready", status: "False", reason: long, message: long }];
  const facts = factsOf({ metadata: { name: "hostile" }, status: { conditions } });
  const why = illnessOf({ facts }, neverRepaired);
  const ill = member("hostile", { ...old, phase: "NotReady", ...(why ? { ill: why } : {}) });
  const node = { metadata: { name: "hostile" }, status: { conditions, nodeInfo: { kubeletVersion: long } } };
  const updating = memberOf({ kind: "NodePool", namespace: "n", name: "node-pool.p" }, poolNode.parse(node), "");
  for (const hostile of [ill, { ...updating, ...old, marked: true }]) {
    deepEqual(ids(snapshot([hostile, member("other", old)]).old).sort(), ["hostile", "other"]);
  }
});
