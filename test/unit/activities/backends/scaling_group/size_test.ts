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

/** One that was given up before anybody knew what came of it. */
function givenUp(id: string, donor: string, when: string): Order {
  const annotations = { "ostler.dev/target": "h", "ostler.dev/donor": donor, "ostler.dev/given-up": when };
  return orderOf(record(id, "Leave", annotations));
}

/** An order that the cloud has taken, with `of`, or not yet. */
function order(id: string, donor: string | undefined, of = ""): Order {
  const annotations = { "ostler.dev/target": "h", ...(donor === undefined ? {} : { "ostler.dev/donor": donor }) };
  return orderOf(record(id, "Join", annotations, of && `sim:///a/${of}`));
}

function removal(member: string, of: string, shrinks: boolean): Removal {
  const annotations = { "ostler.dev/member": member, "ostler.dev/shrinks": `${shrinks}` };
  return removalOf(record(`g.${member}.going`, "Leave", annotations, `sim:///a/${of}`));
}

const three = [instance("1"), instance("2"), instance("3")];

interface Case {
  size: number;
  instances: Instance[];
  orders?: Order[];
  removals?: Removal[];
  /** What was written down before. */
  declared?: number;
  isMoving?: boolean;
}

const table: [what: string, seen: Case, declared: number][] = [
  ["at rest its size is what is wanted", { size: 3, instances: three }, 3],
  [
    "an order was given while the cloud was looked at, which its size knows of and its records did not",
    { size: 4, instances: three, declared: 3, isMoving: true },
    3,
  ],
  ["somebody scales it at rest, whatever was written down", { size: 5, instances: three, declared: 3 }, 5],
  [
    "one is ordered for another that is still there",
    { size: 4, instances: [...three, instance("4", "Creating", "n1")], orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "somebody scales it meanwhile",
    { size: 6, instances: [...three, instance("4", "Ready", "n1")], orders: [order("n1", "1", "4")], declared: 3 },
    5,
  ],
  [
    "K8 nobody knows whether the order reached the cloud, and it did",
    { size: 4, instances: three, orders: [order("n1", "1")], declared: 3 },
    3,
  ],
  ["K8 nobody knows, and it did not", { size: 3, instances: three, orders: [order("n1", "1")], declared: 3 }, 3],
  [
    "K9, K12 what was ordered is shown nowhere yet",
    { size: 4, instances: three, orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "the other one goes, and its place with it, which the cloud does not show yet",
    {
      ...{ size: 3, instances: [...three, instance("4", "Ready", "n1")], declared: 3 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    3,
  ],
  [
    "the other one is on its way out",
    {
      ...{ size: 3, instances: [instance("1", "Terminating"), ...three.slice(1), instance("4", "Ready", "n1")] },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)], declared: 3 },
    },
    3,
  ],
  [
    "K2, K14 a newcomer that did not join goes with its place, while the other one stays",
    {
      ...{ size: 3, instances: [...three, instance("4", "Terminating", "n1")] },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)], declared: 3 },
    },
    3,
  ],
  [
    "K2 the same once it is gone, and its records are not",
    { size: 3, instances: three, orders: [order("n1", "1", "4")], removals: [removal("n1", "4", true)], declared: 3 },
    3,
  ],
  [
    "K11 a newcomer vanished, and the group has made another in its place",
    { size: 4, instances: [...three, instance("5")], orders: [order("n1", "1", "4")], declared: 3 },
    3,
  ],
  [
    "an order was given up, and came after all",
    {
      ...{ size: 4, instances: [...three, instance("4", "Creating", "n1")], declared: 9 },
      orders: [givenUp("n1", "1", "2026-01-01T00:00:00Z")],
    },
    3,
  ],
  [
    "an order was given up a moment ago, and nobody knows whether it comes",
    { size: 4, instances: three, orders: [givenUp("n1", "1", "2026-01-01T00:59:55Z")], declared: 3 },
    3,
  ],
  [
    "an order was given up, nothing came of it, and somebody scales",
    { size: 4, instances: three, orders: [givenUp("n1", "1", "2026-01-01T00:00:00Z")], declared: 3 },
    4,
  ],
  [
    "somebody takes away the one that another came for, and the group makes up for it",
    {
      ...{ size: 4, instances: [...three.slice(1), instance("4", "Ready", "n1"), instance("5")], declared: 9 },
      orders: [order("n1", "1", "4")],
    },
    3,
  ],
  [
    "the one that another came for has gone with its place",
    {
      ...{ size: 3, instances: [...three.slice(1), instance("4", "Ready", "n1")], declared: 9 },
      ...{ orders: [order("n1", "1", "4")], removals: [removal("1", "1", true)] },
    },
    3,
  ],
  [
    "one goes before another comes",
    { size: 3, instances: three, removals: [removal("1", "1", false)], declared: 3 },
    3,
  ],
  [
    "an order of the operator of before, which names nobody, is part of its size",
    { size: 4, instances: [...three, instance("4")], orders: [order("4", undefined, "4")] },
    4,
  ],
];

for (const [what, { size, instances, orders = [], removals = [], declared, isMoving = false }, wanted] of table) {
  Deno.test(`declaredSize: ${what}`, () => {
    const seen = { cloud: { ...group, size }, instances, records: { orders, removals }, at, isMoving };
    equal(declaredSize(seen, { declared }), wanted);
  });
}
