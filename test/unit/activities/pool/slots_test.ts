import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { holderOfRenewal, holderOfUpgrade, isSlotOf, isUnderWay } from "../../../../activities/pool/upgraded_nodes.ts";
import { ensureSlotsKept, ensureSlotTaken, readSlotsOf, readUpgradeSlots } from "../../../../activities/pool/slots.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { pool } from "../../../support/machine_objects.ts";
import type { PoolRef, Urgency } from "../../../../workflows/contracts/mod.ts";

const minute = 60_000;
const hour = 60 * minute;
const longAgo = "2020-01-01T00:00:00.000Z";
const other = { namespace: "fleet", name: "other" };

function take(
  kube: FakeKube,
  machine: string,
  { of = pool, ...more }: { of?: PoolRef; limit?: number; urgency?: Urgency; begun?: boolean; since?: number } = {},
): ReturnType<typeof ensureSlotTaken> {
  return ensureSlotTaken(keeper(kube), { pool: of, machine, limit: 2, ...more });
}

function release(kube: FakeKube, of: PoolRef): Promise<void> {
  return ensureSlotsKept(keeper(kube), { pool: of, machines: [] });
}

function keeper(kube: FakeKube): Parameters<typeof ensureSlotTaken>[0] {
  return { kube: kube.client, profileNamespace: "kube-system" };
}

function held(kube: FakeKube): string[] {
  return Object.keys(kube.get("configmaps", "ostler-budget", "kube-system")?.["data"] ?? {}).sort();
}

function putBudget(kube: FakeKube, data: Record<string, string>): void {
  kube.put("configmaps", { metadata: { namespace: "kube-system", name: "ostler-budget" }, data });
}

Deno.test("ensureSlotTaken: gives slots to machines of any pool, up to the limit, and reports the holders", async () => {
  const kube = new FakeKube();
  deepEqual(await take(kube, "a"), { taken: true, holders: [] });
  deepEqual(await take(kube, "b", { of: other }), { taken: true, holders: [] });
  deepEqual(await take(kube, "c"), { taken: false, holders: ["fleet/pool/a", "fleet/other/b"], ahead: 0 });
  deepEqual(held(kube), ["fleet_other_b", "fleet_pool_a"]);
});

Deno.test("ensureSlotTaken: keeps the slot of a machine that requests it again, and writes nothing, also when all slots are taken", async () => {
  const kube = new FakeKube();
  for (const machine of ["a", "b"]) await take(kube, machine);
  kube.writes.length = 0;
  deepEqual(await take(kube, "a"), { taken: true, holders: [] });
  deepEqual(kube.writes, []);
});

Deno.test("ensureSlotTaken: does not take a slot that another pool took during a conflict", async () => {
  const kube = new FakeKube();
  putBudget(kube, { fleet_other_x: longAgo });
  let isLate = false;
  kube.onRequest = (request) => {
    if (isLate || !request.startsWith("patch configmaps")) return;
    isLate = true;
    putBudget(kube, { fleet_other_x: new Date().toISOString(), fleet_other_y: new Date().toISOString() });
  };
  equal((await take(kube, "a")).taken, false);
  ok(isLate);
  deepEqual(held(kube), ["fleet_other_x", "fleet_other_y"]);
});

Deno.test("ensureSlotTaken: fails as a retryable ApiUnavailable when every write conflicts", async () => {
  const kube = new FakeKube();
  putBudget(kube, {});
  kube.onRequest = (request) => {
    if (request.startsWith("patch configmaps")) putBudget(kube, {});
  };
  await rejects(take(kube, "a"), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("ensureSlotTaken: takes over slots of converged or deleted pools when all are taken", async () => {
  for (const phase of ["Converged", "RolledBack", "Aborted", undefined]) {
    const kube = new FakeKube();
    if (phase) kube.put("rollouts", { metadata: { ...other }, status: { phase } });
    putBudget(kube, { fleet_other_x: longAgo });
    deepEqual(await take(kube, "a", { limit: 1 }), { taken: true, holders: [] }, phase);
    deepEqual(held(kube), ["fleet_pool_a"], phase);
  }
});

Deno.test("ensureSlotTaken: does not take over slots of unfinished rollouts, nor slots taken a moment ago, whose Rollout may be out of date", async () => {
  for (const [phase, since] of [["Halted", longAgo], ["Rolling", longAgo], ["Converged", new Date().toISOString()]]) {
    const kube = new FakeKube();
    kube.put("rollouts", { metadata: { ...other }, status: { phase } });
    putBudget(kube, { fleet_other_x: since ?? "" });
    deepEqual(await take(kube, "a", { limit: 1 }), { taken: false, holders: ["fleet/other/x"], ahead: 0 }, phase);
  }
});

Deno.test("ensureSlotsKept: releases the slots of the pool, except those of the given machines", async () => {
  const kube = new FakeKube();
  const data = { fleet_pool_a: longAgo, fleet_pool_b: longAgo, "fleet_pool.b_a": longAgo, fleet_pool2_a: longAgo };
  putBudget(kube, data);
  await ensureSlotsKept(keeper(kube), { pool, machines: ["b", "not in the list"] });
  deepEqual(held(kube), ["fleet_pool.b_a", "fleet_pool2_a", "fleet_pool_b"]);
  kube.writes.length = 0;
  await ensureSlotsKept(keeper(kube), { pool, machines: ["b"] });
  await ensureSlotsKept(keeper(new FakeKube()), { pool, machines: [] });
  deepEqual(kube.writes, []);
});

Deno.test("slots: have the name of the cluster if it has one; a slot without a cluster name still counts for the pool", async () => {
  const kube = new FakeKube();
  const named = { ...pool, cluster: "north" };
  putBudget(kube, { fleet_pool_a: new Date().toISOString() });
  deepEqual(await take(kube, "a", { of: named }), { taken: true, holders: [] });
  deepEqual(await take(kube, "b", { of: named }), { taken: true, holders: [] });
  deepEqual(held(kube), ["fleet_pool_a", "north_fleet_pool_b"]);
  deepEqual(await take(kube, "c", { of: named }), {
    taken: false,
    holders: ["fleet/pool/a", "fleet/pool/b"],
    ahead: 0,
  });
  await ensureSlotsKept(keeper(kube), { pool: named, machines: ["b"] });
  deepEqual(held(kube), ["north_fleet_pool_b"]);
});

Deno.test("slots: a pool and machines whose names together are too long for a key have slots like all others", async () => {
  const kube = new FakeKube();
  // Discovery names groups with up to 200 characters.
  const name = `scaling-group.${"g".repeat(200)}`;
  const long: PoolRef = { kind: "ScalingGroup", cluster: "north", namespace: "kube-system", name };
  const [first, second] = ["a", "b"].map((machine) => `${name}-${machine}`);
  ok(first && second);
  for (let nth = 0; nth < 2; nth++) equal((await take(kube, first, { of: long })).taken, true);
  equal((await take(kube, second, { of: long })).taken, true);
  equal(held(kube).length, 2);
  ok(held(kube).every((key) => key.length <= 253));
  await ensureSlotsKept(keeper(kube), { pool: long, machines: [first] });
  equal(held(kube).length, 1);
  equal((await take(kube, first, { of: long, limit: 1 })).taken, true);
  equal((await take(kube, second, { of: long, limit: 1 })).taken, false);
  await release(kube, long);
  deepEqual(held(kube), []);
});

Deno.test("slots: a machine with a long name is kept while the upgrade of a long NodeVersion has its slot", async () => {
  const kube = new FakeKube();
  const [node, other] = ["a", "b"].map((each) => `${each}${"n".repeat(200)}`);
  ok(node && other);
  const of = holderOfUpgrade({ name: "v".repeat(60) });
  const slot = { pool: of, machine: node, limit: 1, of: "ControlPlanes" } as const;
  await ensureSlotTaken(keeper(kube), { ...slot, until: Date.now() + hour });
  const slots = await readUpgradeSlots(keeper(kube));
  deepEqual([node, other].map((id) => isUnderWay({ id }, slots)), [true, false]);
  const read = await readSlotsOf(keeper(kube), { pool: of, of: "ControlPlanes" });
  deepEqual([node, other].map((machine) => read.some((slot) => isSlotOf(slot, machine))), [true, false]);
});

Deno.test("slots: a pool keeps and releases the slots that it took under a previous name of its cluster", async () => {
  for (const [taken, cluster] of [["south_fleet_pool_a", "north"], ["south_fleet_pool_a", undefined]] as const) {
    const kube = new FakeKube();
    const renamed = cluster === undefined ? pool : { ...pool, cluster };
    kube.put("rollouts", { metadata: { ...pool }, status: { phase: "Rolling" } });
    putBudget(kube, { [taken]: longAgo });
    deepEqual(await take(kube, "a", { of: renamed, limit: 1 }), { taken: true, holders: [] });
    await ensureSlotsKept(keeper(kube), { pool: renamed, machines: [] });
    deepEqual(held(kube), []);
  }
});

const third = { namespace: "fleet", name: "third" };

Deno.test("fault E8: ensureSlotTaken: a pool that released its slot gets the next slot only after the pools that already wait", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  equal((await take(kube, "b", { of: other, limit: 1 })).ahead, 0);
  equal((await take(kube, "c", { of: third, limit: 1 })).ahead, 1);
  await release(kube, pool);
  deepEqual(await take(kube, "a2", { limit: 1 }), { taken: false, holders: [], ahead: 2 });
  equal((await take(kube, "c", { of: third, limit: 1 })).taken, false);
  equal((await take(kube, "b", { of: other, limit: 1 })).taken, true);
  await release(kube, other);
  equal((await take(kube, "b2", { of: other, limit: 1 })).ahead, 2);
  equal((await take(kube, "c", { of: third, limit: 1 })).taken, true);
});

Deno.test("fault E8: ensureSlotTaken: a more urgent pool comes first", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  await take(kube, "b", { of: other, limit: 1, urgency: "Low" });
  equal((await take(kube, "c", { of: third, limit: 1, urgency: "High" })).ahead, 0);
  await release(kube, pool);
  equal((await take(kube, "b", { of: other, limit: 1, urgency: "Low" })).ahead, 1);
  equal((await take(kube, "c", { of: third, limit: 1, urgency: "High" })).taken, true);
});

Deno.test("fault E8: ensureSlotTaken: a pool that stopped asking, or an invalid entry in the queue, keeps no slot free", async () => {
  const place = { since: Date.now() - 900_000, seen: Date.now() - 600_000, urgency: "High" };
  for (const waiting of [JSON.stringify({ "/fleet/other": place }), "odd", "[3]", '{"x":null}']) {
    const kube = new FakeKube();
    const metadata = {
      namespace: "kube-system",
      name: "ostler-budget",
      annotations: { "ostler.dev/waiting": waiting },
    };
    kube.put("configmaps", { metadata, data: {} });
    equal((await take(kube, "a", { limit: 1 })).taken, true, waiting);
  }
});

Deno.test("fault E8: ensureSlotTaken: a waiting pool does not write its place in the queue again at each request", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  await take(kube, "b", { of: other, limit: 1 });
  kube.writes.length = 0;
  equal((await take(kube, "b", { of: other, limit: 1 })).taken, false);
  deepEqual([kube.writes, held(kube)], [[], ["fleet_pool_a"]]);
});

Deno.test("fault E8: ensureSlotTaken: a machine that is already out of service takes a free slot before all pools that wait", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  await take(kube, "b", { of: other, limit: 1 });
  deepEqual(await take(kube, "ill", { of: third, limit: 1, begun: true }), {
    taken: false,
    holders: ["fleet/pool/a"],
    ahead: 0,
  });
  deepEqual(Object.keys(placesOf(kube)), ["/fleet/other"]);
  await release(kube, pool);
  equal((await take(kube, "ill", { of: third, limit: 1, begun: true })).taken, true);
  deepEqual([held(kube), Object.keys(placesOf(kube))], [["fleet_third_ill"], ["/fleet/other"]]);
});

function placesOf(kube: FakeKube): Record<string, { since: number }> {
  return JSON.parse(annotationOf(kube)) as Record<string, { since: number }>;
}

function annotationOf(kube: FakeKube): string {
  const { metadata } = kube.get("configmaps", "ostler-budget", "kube-system") ?? { metadata: {} as never };
  return metadata.annotations?.["ostler.dev/waiting"] ?? "{}";
}

function waiter(nth: number, length = 0): PoolRef {
  return { namespace: "fleet", name: `waits-${String(nth).padStart(3, "0")}`.padEnd(length, "x") };
}

Deno.test("fault E8: ensureSlotTaken: stores the first 50 places of the queue, and writes none for a later pool", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  for (let nth = 0; nth < 60; nth++) await take(kube, "m", { of: waiter(nth), limit: 1 });
  equal(Object.keys(placesOf(kube)).length, 50);
  kube.writes.length = 0;
  deepEqual((await take(kube, "m", { of: waiter(60), limit: 1 })).ahead, 50);
  deepEqual(kube.writes, []);
  // A pool without a stored place, which has waited longer than all others, becomes the first of the queue.
  const since = Date.now() - 60_000;
  equal((await take(kube, "m", { of: waiter(61), limit: 1, since })).ahead, 0);
  deepEqual([Object.keys(placesOf(kube)).length, placesOf(kube)["/fleet/waits-061"]?.since], [50, since]);
  await release(kube, pool);
  equal((await take(kube, "m", { of: waiter(60), limit: 1 })).taken, false);
  equal((await take(kube, "m", { of: waiter(61), limit: 1 })).taken, true);
  await take(kube, "m", { of: waiter(60), limit: 1 });
  ok("/fleet/waits-060" in placesOf(kube));
});

Deno.test("fault E8: ensureSlotTaken: the queue stays below 40 kB when 50 pools with long names wait", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  const cluster = "c".repeat(2_000);
  for (let nth = 0; nth < 50; nth++) await take(kube, "m", { of: { ...waiter(nth, 250), cluster }, limit: 1 });
  ok(annotationOf(kube).length > 20_000 && annotationOf(kube).length < 40_000, `${annotationOf(kube).length}`);
});

Deno.test("fault E8: ensureSlotsKept: a pool with no machines to replace leaves the queue, and another pool gets the slot", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  await take(kube, "b", { of: other, limit: 1 });
  await ensureSlotsKept(keeper(kube), { pool: other, machines: ["b"] });
  ok("/fleet/other" in placesOf(kube));
  await release(kube, other);
  deepEqual(placesOf(kube), {});
  await release(kube, pool);
  equal((await take(kube, "c", { of: third, limit: 1 })).taken, true);
});

Deno.test("fault E8: ensureSlotsKept: releases slots even if the removal of the pool from the queue always conflicts", async () => {
  const kube = new FakeKube();
  await take(kube, "a", { limit: 1 });
  await take(kube, "a2", { limit: 1 });
  kube.onRequest = (request) => {
    if (!request.startsWith("patch configmaps")) return;
    const map = kube.get("configmaps", "ostler-budget", "kube-system");
    if (map) kube.put("configmaps", map);
  };
  await release(kube, pool);
  deepEqual(held(kube), []);
});

Deno.test("fault E8: ensureSlotTaken: a waiting pool does not block others when its own limit is below the number of taken slots", async () => {
  const kube = new FakeKube();
  for (const machine of ["a", "b"]) await take(kube, machine, { limit: 3 });
  await take(kube, "m", { of: other, limit: 1 });
  deepEqual(await take(kube, "c", { of: third, limit: 3 }), { taken: true, holders: [] });
});

const upgrade = holderOfUpgrade({ name: "v" });

function takeForUpgrade(kube: FakeKube, until?: number): ReturnType<typeof ensureSlotTaken> {
  const order = { pool: upgrade, machine: "cp-1", limit: 1, of: "ControlPlanes" } as const;
  return ensureSlotTaken(keeper(kube), { ...order, ...(until === undefined ? {} : { until }) });
}

function takeForGroup(kube: FakeKube): ReturnType<typeof ensureSlotTaken> {
  return ensureSlotTaken(keeper(kube), { pool: other, machine: "a", limit: 1, of: "ControlPlanes", begun: true });
}

function planes(kube: FakeKube): Record<string, string> {
  return (kube.get("configmaps", "ostler-control-planes", "kube-system")?.["data"] ?? {}) as Record<string, string>;
}

Deno.test("K23 ensureSlotTaken: a ScalingGroup takes no slot of control planes while an upgrade has one", async () => {
  const kube = new FakeKube();
  deepEqual(await takeForUpgrade(kube, Date.now() + hour), { taken: true, holders: [] });
  const answer = { taken: false, holders: ["kube-system/upgrade-kubernetes.v/cp-1"], ahead: 0 };
  deepEqual(await takeForGroup(kube), answer);
  // The group is refused, although its machine is already out of service. The slot of the upgrade stores only the time
  // at which it ends, so that workers of earlier versions respect it, too.
  const [key = ""] = Object.keys(planes(kube));
  const map = kube.get("configmaps", "ostler-control-planes", "kube-system");
  Object.assign(map?.["data"] ?? {}, { [key]: new Date(Date.now() - 6 * minute).toISOString() });
  deepEqual(await takeForGroup(kube), { taken: true, holders: [] });
  deepEqual(Object.keys(planes(kube)), ["fleet_other_a"]);
  equal((await takeForUpgrade(kube)).taken, false);
});

Deno.test("K23 ensureSlotTaken: an upgrade extends the time of its slot, and writes nothing when the time is the same", async () => {
  const kube = new FakeKube();
  const until = Date.now() + hour;
  await takeForUpgrade(kube, until);
  kube.writes.length = 0;
  await takeForUpgrade(kube, until);
  deepEqual(kube.writes, []);
  await takeForUpgrade(kube, until + hour);
  deepEqual(Object.values(planes(kube)), [new Date(until + hour).toISOString()]);
  await ensureSlotsKept(keeper(kube), { pool: upgrade, machines: [], of: "ControlPlanes" });
  deepEqual(planes(kube), {});
});

Deno.test("K23 ensureSlotTaken: a slot with a time a year ahead, which only a wrong clock can have written, counts as abandoned", async () => {
  const kube = new FakeKube();
  const far = new Date(Date.now() + 365 * 24 * hour).toISOString();
  const metadata = { namespace: "kube-system", name: "ostler-control-planes" };
  kube.put("configmaps", { metadata, data: { "kube-system_upgrade-kubernetes.v_cp-1": far } });
  deepEqual(await takeForGroup(kube), { taken: true, holders: [] });
  const forEver = Date.now() + 365 * 24 * hour;
  await ensureSlotsKept(keeper(kube), { pool: other, machines: [], of: "ControlPlanes" });
  await takeForUpgrade(kube, forEver);
  ok(Date.parse(Object.values(planes(kube))[0] ?? "") <= Date.now() + 24 * hour);
});

Deno.test("ensureSlotTaken: only one of a certificate renewal, an upgrade and a ScalingGroup has a slot of control planes at a time", async () => {
  const ofRenewal = { pool: holderOfRenewal({ name: "v" }), machine: "cp-2", limit: 1, of: "ControlPlanes" } as const;
  const takeForRenewal = (kube: FakeKube): ReturnType<typeof ensureSlotTaken> =>
    ensureSlotTaken(keeper(kube), { ...ofRenewal, until: Date.now() + hour, begun: true });
  const takes = [takeForRenewal, (kube: FakeKube) => takeForUpgrade(kube, Date.now() + hour), takeForGroup];
  for (const first of takes) {
    const kube = new FakeKube();
    const answers = [];
    for (const take of [first, ...takes]) answers.push((await take(kube)).taken);
    deepEqual(answers, [true, ...takes.map((take) => take === first)]);
    deepEqual(Object.keys(planes(kube)).length, 1);
  }
  // A slot of a renewal ends by itself; until then no group replaces or repairs the machine that has it.
  const kube = new FakeKube();
  await takeForRenewal(kube);
  const [slot] = await readUpgradeSlots(keeper(kube));
  deepEqual([slot?.machine, (slot?.until ?? 0) > Date.now()], ["cp-2", true]);
});

Deno.test("ensureSlotTaken: stores no future end time in the slot of a MachineDeployment that has the name of an upgrade", async () => {
  const kube = new FakeKube();
  const { namespace, name } = upgrade;
  await take(kube, "a", { of: { namespace, name } });
  const [since = ""] = Object.values(
    kube.get("configmaps", "ostler-budget", "kube-system")?.["data"] ?? {},
  ) as string[];
  ok(Date.parse(since) <= Date.now());
});
