import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import type { Driver, Journal } from "../../../../../activities/clouds/driver.ts";
import { unavailable } from "../../../../../activities/failures.ts";
import type { CloudInstance } from "../../../../../deploy/local/cloud/groups/group_cloud.ts";
import { directCloud, GroupInMemory, next, pool, spec } from "../../../../support/group_in_memory.ts";
import { useCloud } from "../../../../support/staged_cluster.ts";

/** Orders a machine through a driver that first calls `work` with the journal of the order. */
async function ordered(work: (journal: Journal, group: GroupInMemory) => Promise<void>): Promise<GroupInMemory> {
  const group = new GroupInMemory({ size: 1 });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const driver = directCloud(group.cloud);
  const order: typeof driver.order = async (asked) => {
    ok(asked.journal);
    await work(asked.journal, group);
    return await driver.order(asked);
  };
  useCloud(group.client, () => Promise.resolve({ ...driver, order }));
  await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
  return group;
}

function attemptIn(group: GroupInMemory): string | undefined {
  return group.kube.get("pendingnodes", "workers-new-1")?.metadata.annotations?.["ostler.dev/attempt"];
}

Deno.test("fault G7: admit keeps the journal of an order in its record, before the cloud answers", async () => {
  const seen: unknown[] = [];
  const group = await ordered(async (journal, group) => {
    seen.push(
      await journal.read(),
      await journal.write({ from: "", to: "1 a" }),
      attemptIn(group),
      await journal.read(),
    );
  });
  deepEqual(seen, ["", true, "1 a", "1 a"]);
  equal(attemptIn(group), "1 a");
});

Deno.test("fault G7: admit changes no journal that another process has changed", async () => {
  const seen: unknown[] = [];
  await ordered(async (journal, group) => {
    const writes = ["1 a", "1 b"].map((to) => journal.write({ from: "", to }));
    seen.push((await Promise.all(writes)).sort());
    seen.push(await journal.write({ from: "other", to: "2" }), attemptIn(group) === "2");
  });
  deepEqual(seen, [[false, true], false, false]);
});

const machine = "workers-new-1";

/**
 * Returns a group whose cloud lost the answer to the first order, and left an attempt open in the journal. With
 * `launches` the cloud has created an instance, which has no token until the attempt is ended. `ended` contains the
 * tokens of ended attempts.
 */
async function cutOff({ launches }: { launches: boolean }): Promise<{ group: GroupInMemory; ended: string[] }> {
  const group = new GroupInMemory();
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const driver = directCloud(group.cloud);
  const ended: string[] = [];
  let untagged: CloudInstance | undefined;
  const order: Driver["order"] = async (asked) => {
    if (ended.length > 0) return await driver.order(asked);
    const inCloud = group.cloud.group(spec.id);
    ok(asked.journal && inCloud);
    await asked.journal.write({ from: "", to: "open" });
    if (launches) {
      untagged = group.cloud.order(inCloud, asked.token);
      delete untagged.token;
    }
    throw unavailable("the answer was lost");
  };
  const end = async ({ token, journal }: { token: string; journal: Journal }): Promise<void> => {
    ended.push(token);
    if (untagged) untagged.token = token;
    else await journal.write({ from: "open", to: "closed" });
  };
  const attempts = { isOpen: (text: string) => text === "open", end };
  // With a lag of 0 ms a withdrawn order counts as lost at once, unless its attempt is open.
  useCloud(group.client, () => Promise.resolve({ ...driver, order, attempts, lagMs: 0 }));
  await rejects(group.backend.orders.admit({ pool, machine, victim: "workers-1" }), { type: "ApiUnavailable" });
  return { group, ended };
}

function standing({ cloud, kube }: GroupInMemory): unknown {
  const alive = cloud.instances().filter(({ state }) => state !== "Terminating" && state !== "Terminated");
  return { size: cloud.group(spec.id)?.size, alive: alive.length, records: kube.all("pendingnodes").length };
}

/** Withdraws the order, and deletes the instance and the records that it left, as a workflow does. */
async function withdrawn({ group }: { group: GroupInMemory }): Promise<void> {
  await group.backend.orders.release({ pool, machine });
  for (let nth = 0; nth < 4; nth++) {
    await group.backend.seeOff({ pool, machine });
    group.settle();
  }
}

Deno.test("fault G7: a withdrawn order with an open attempt ends when its instance is removed and the group has its previous size", async () => {
  const all = await cutOff({ launches: true });
  await withdrawn(all);
  deepEqual(all.ended, [machine]);
  deepEqual(standing(all.group), { size: 3, alive: 3, records: 0 });
});

Deno.test("fault G7: a withdrawn order whose attempt has ended without an instance keeps its record while the old machine exists", async () => {
  const all = await cutOff({ launches: false });
  await withdrawn(all);
  deepEqual(all.ended, [machine]);
  deepEqual(standing(all.group), { size: 3, alive: 3, records: 1 });
});

for (const launches of [true, false]) {
  const what = launches ? "is completed" : "is withdrawn";
  Deno.test(`fault G7: when the old machine of an order with an open attempt is being deleted, the order ${what}, because the attempt launched ${launches ? "an instance" : "nothing"}`, async () => {
    const { group, ended } = await cutOff({ launches });
    await rejects(group.backend.orders.release({ pool, machine: "workers-1" }), /order "workers-new-1" for its/);
    const admitted = group.backend.orders.admit({ pool, machine, victim: "workers-1" });
    if (launches) await admitted;
    else await rejects(admitted, { type: "MachineGone" });
    deepEqual(ended, [machine]);
    equal(group.cloud.group(spec.id)?.size, launches ? 4 : 3);
    equal(group.kube.get("pendingnodes", machine)?.["spec"] !== undefined, launches);
  });
}

/** Orders a machine from a cloud that reports the new instance as `ageMs` older than the record of its order. */
async function orderedFrom(ageMs: number): Promise<GroupInMemory> {
  const group = new GroupInMemory({ size: 1 });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const driver = directCloud(group.cloud);
  const order: typeof driver.order = async (asked) => {
    const answer = await driver.order(asked);
    if (answer.outcome !== "Ordered") return answer;
    const recorded = String(group.kube.get("pendingnodes", machine)?.metadata.creationTimestamp);
    const since = new Date(Date.parse(recorded) - ageMs).toISOString();
    return { ...answer, instance: { ...answer.instance, since } };
  };
  useCloud(group.client, () => Promise.resolve({ ...driver, order }));
  await group.backend.orders.admit({ pool, machine, victim: "workers-1" });
  return group;
}

Deno.test("admit: takes a new instance if the clock of the cloud is minutes behind that of the API server", async () => {
  const group = await orderedFrom(5 * 60_000);
  const { providerID } = group.kube.get("pendingnodes", machine)?.["spec"] as { providerID?: string };
  ok(providerID);
});

Deno.test("admit: refuses an instance that is clearly older than the order with its token", async () => {
  await rejects(orderedFrom(3_600_000), { type: "CloudRefused", message: /already has the token of this order/ });
});
