import { equal } from "node:assert/strict";
import type { Instance } from "../../../../../activities/clouds/driver.ts";
import {
  type Order,
  orderOf,
  type Removal,
  removalOf,
} from "../../../../../activities/backends/scaling_group/records.ts";
import { declaredSize } from "../../../../../activities/backends/scaling_group/size.ts";
import { PendingNode } from "../../../../../activities/kube/update_kinds.ts";

const group = { id: "g", name: "g", autoscalerName: "g", role: "Worker" as const, min: 1, max: 9 };

function instance(id: string, state: Instance["state"] = "Ready", token?: string): Instance {
  return {
    ...{ providerId: `sim:///a/${id}`, group: "g", node: id, state, trouble: "", image: "i", addresses: [] },
    ...{ isProtected: false, since: "2026-01-01T00:00:00Z", ...(token === undefined ? {} : { token }) },
  };
}

function record(
  name: string,
  goal: "Join" | "Leave",
  annotations: Record<string, string>,
  providerID = "",
): PendingNode {
  const metadata = { name, uid: name, annotations, creationTimestamp: "2026-01-01T00:00:00Z" };
  return PendingNode.parse({ metadata, spec: { goal, providerID, groupID: "g" } });
}

const at = { now: Date.parse("2026-01-01T01:00:00Z"), lagMs: 10_000 };

/** An order that was cancelled while its outcome was unknown. */
function givenUp(id: string, donor: string, when: string): Order {
  const annotations = { "ostler.dev/target": "h", "ostler.dev/donor": donor, "ostler.dev/given-up": when };
  return orderOf(record(id, "Leave", annotations));
}

/**
 * A record of an order: with `of` the cloud has created that instance, and without it the cloud has not answered yet.
 */
function order(id: string, donor: string | undefined, of = ""): Order {
  const annotations = { "ostler.dev/target": "h", ...(donor === undefined ? {} : { "ostler.dev/donor": donor }) };
  return orderOf(record(id, "Join", annotations, of && `sim:///a/${of}`));
}

function removal(member: string, of: string, shrinks: boolean): Removal {
  const annotations = { "ostler.dev/member": member, "ostler.dev/shrinks": `${shrinks}` };
  return removalOf(record(`g.${member}.going`, "Leave", annotations, `sim:///a/${of}`));
}

const three = [instance("1"), instance("2"), instance("3")];
/** Machines that are older than all orders. */
const older = ["2", "3"].map((id) => ({ ...instance(id), since: "2025-12-01T00:00:00Z" }));
const five = ["5", "6", "7", "8", "9"].map((id) => instance(id));

interface Case {
  size: number;
  instances: Instance[];
  orders?: Order[];
  removals?: Removal[];
  /** The size that an earlier read recorded. */
  declared?: number;
  /** Number of records that changed during the read. */
  moved?: number;
}

const table: [what: string, seen: Case, declared: number][] = [
  ["a group of 3 is at rest", { size: 3, instances: three }, 3],
  [
    "an order was sent during the read, so the size includes it and the records do not",
    { size: 4, instances: three, declared: 3, moved: 1 },
    3,
  ],
  ["another controller scales the group to 5 at rest, whatever was recorded", {
    size: 5,
    instances: three,
    declared: 3,
  }, 5],
  [
    "a new machine is ordered for an old machine that still exists",
    { size: 4, instances: [...three, instance("4", "Creating", "n1")], orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "another controller adds 2 machines during a replacement",
    { size: 6, instances: [...three, instance("4", "Ready", "n1")], orders: [order("n1", "1", "4")], declared: 3 },
    5,
  ],
  [
    "K8 it is unknown whether the order reached the cloud, and it did",
    { size: 4, instances: three, orders: [order("n1", "1")], declared: 3 },
    3,
  ],
  ["K8 it is unknown whether the order reached the cloud, and it did not", {
    size: 3,
    instances: three,
    orders: [order("n1", "1")],
    declared: 3,
  }, 3],
  [
    "K9, K12 the cloud does not show the ordered machine yet",
    { size: 4, instances: three, orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "the size already excludes the old machine, whose deletion the cloud does not show yet",
    {
      ...{ size: 3, instances: [...three, instance("4", "Ready", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    3,
  ],
  [
    "the old machine is being deleted",
    {
      ...{ size: 3, instances: [instance("1", "Terminating"), ...three.slice(1), instance("4", "Ready", "n1")] },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)], declared: 3 },
    },
    3,
  ],
  [
    "K2, K14 a new machine that did not join is being deleted, the size does not include it, and the old machine stays",
    {
      ...{ size: 3, instances: [...three, instance("4", "Terminating", "n1")] },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)], declared: 3 },
    },
    3,
  ],
  [
    "K2 a new machine that did not join is deleted, and its records are not",
    { size: 3, instances: three, orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)], declared: 3 },
    3,
  ],
  [
    "K11 a new machine vanished, and the group has created another machine in its place",
    { size: 4, instances: [...three, instance("5")], orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "another controller adds 5 machines while it is unknown whether an order reached the cloud",
    { size: 8, instances: [...three, ...five], orders: [order("n1", "1")], declared: 3 },
    8,
  ],
  [
    "another controller adds 5 machines while it is unknown whether a cancelled order reached the cloud",
    {
      ...{ size: 8, instances: [...three, ...five], declared: 3 },
      orders: [givenUp("n1", "1", "2026-01-01T00:59:55Z")],
    },
    8,
  ],
  [
    "the removal of an old machine is recorded, and the size still includes that machine",
    {
      ...{ size: 4, instances: [...three, instance("4", "Ready", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    3,
  ],
  [
    "another controller adds 5 machines during the removal of an old machine, which the size may or may not include",
    {
      ...{ size: 9, instances: [...three, ...five, instance("4", "Ready", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    9,
  ],
  [
    "another controller adds 5 machines during the removal of a new machine, which the size may or may not include",
    {
      ...{ size: 8, instances: [...three, ...five, instance("4", "Creating", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)] },
    },
    8,
  ],
  [
    "the removal of a new machine is recorded, and the size still includes that machine",
    {
      ...{ size: 4, instances: [...three, instance("4", "Creating", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)] },
    },
    3,
  ],
  [
    "another controller adds 5 machines, and the order of a sixth is recorded during the read and may be in the size",
    { size: 8, instances: [...three, ...five], orders: [order("n1", "1", "4")], declared: 3, moved: 1 },
    8,
  ],
  [
    "another controller removes a machine while it is unknown whether an order reached the cloud",
    { size: 2, instances: three.slice(1), orders: [order("n1", "1")], declared: 3 },
    3,
  ],
  [
    "an order was cancelled, and its machine arrived late",
    {
      ...{ size: 4, instances: [...three, instance("4", "Creating", "n1")], declared: 9 },
      orders: [givenUp("n1", "1", "2026-01-01T00:00:00Z")],
    },
    3,
  ],
  [
    "an order was cancelled a moment ago, and its machine may still arrive",
    { size: 4, instances: three, orders: [givenUp("n1", "1", "2026-01-01T00:59:55Z")], declared: 3 },
    3,
  ],
  [
    "an order was cancelled, its machine never arrived, and another controller adds a machine",
    { size: 4, instances: three, orders: [givenUp("n1", "1", "2026-01-01T00:00:00Z")], declared: 3 },
    4,
  ],
  [
    "another controller deletes the old machine, and the group replaces it by itself",
    {
      ...{ size: 4, instances: [...three.slice(1), instance("4", "Ready", "n1"), instance("5")], declared: 9 },
      orders: [order("n1", "1", "4")],
    },
    3,
  ],
  [
    "another controller deletes the old machine and reduces the size",
    {
      ...{ size: 3, instances: [...older, instance("4", "Ready", "n1")], declared: 3 },
      orders: [order("n1", "1", "4")],
    },
    3,
  ],
  [
    "another controller deletes the new machine of a group of one machine and reduces the size",
    { size: 1, instances: older.slice(0, 1), orders: [order("n1", "2", "4")], declared: 1 },
    1,
  ],
  [
    "the old machine has been deleted, and the size does not include it any more",
    {
      ...{ size: 3, instances: [...three.slice(1), instance("4", "Ready", "n1")], declared: 9 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    3,
  ],
  [
    "an old machine is deleted before a new machine is ordered",
    { size: 3, instances: three, removals: [removal("1", "1", false)], declared: 3 },
    3,
  ],
  [
    "the machine that the Constellation node operator ordered without naming an old machine is part of the size",
    { size: 4, instances: [...three, instance("4")], orders: [order("4", undefined, "4")] },
    4,
  ],
];

for (const [what, { size, instances, orders = [], removals = [], declared, moved = 0 }, wanted] of table) {
  Deno.test(`declaredSize: returns ${wanted} when ${what}`, () => {
    const nodes = new Map();
    const seen = { cloud: { ...group, size }, instances, records: { orders, removals }, nodes, at, moved };
    equal(declaredSize(seen, { declared }), wanted);
  });
}
