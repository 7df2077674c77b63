/** The zones of new machines: each new machine is ordered in the zone of the machine that it replaces. */
import { deepEqual, equal } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { GroupInMemory, next, pool, spec } from "../../../../support/group_in_memory.ts";

function groupOf(zones: string[]): GroupInMemory {
  const group = new GroupInMemory({ zones });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  return group;
}

Deno.test("fault G2: a group of one machine in each of three zones has one in each after its rollout", async () => {
  const group = groupOf(["a", "b", "c"]);
  const { backend, cloud } = group;
  const zones = (): string[] =>
    cloud.instances().filter(({ state }) => state === "Ready").map(({ zone }) => zone).sort();
  const victims = cloud.instances().map(({ node, zone }) => [node, zone] as const).toReversed();
  deepEqual(zones(), ["a", "b", "c"]);
  for (const [nth, [victim, zone]] of victims.entries()) {
    const machine = `workers-new-${nth + 1}`;
    await backend.orders.admit({ pool, machine, victim });
    const heir = cloud.instances().find(({ token }) => token === machine);
    equal(heir?.zone, zone);
    group.join(heir?.providerId ?? "", next);
    await backend.welcome({ pool, machine });
    await backend.orders.release({ pool, machine: victim });
    group.settle();
    await backend.seeOff({ pool, machine: victim });
  }
  deepEqual([zones(), cloud.group(spec.id)?.size], [["a", "b", "c"], 3]);
});

Deno.test("fault G2: an order that is repeated after its old machine was deleted keeps the zone of that machine", async () => {
  const group = groupOf(["a", "b", "c"]);
  const { backend, cloud, kube } = group;
  const driver = await group.driver();
  const zones: (string | undefined)[] = [];
  const { order } = driver;
  driver.order = async (asked) => {
    zones.push(asked.zone);
    return zones.length === 1 ? { outcome: "NoCapacity", says: "full" } : await order(asked);
  };
  const [first] = cloud.instances();
  const asked = { pool, machine: "workers-new-1", victim: first?.node ?? "" };
  await backend.orders.admit(asked);
  cloud.set(first?.providerId ?? "", { state: "Terminated" });
  kube.remove("nodes", first?.node ?? "");
  await backend.orders.admit(asked);
  deepEqual(zones, [first?.zone, first?.zone]);
});
