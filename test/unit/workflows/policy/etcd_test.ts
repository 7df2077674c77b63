/** K27: control planes are not replaced while their etcd has a problem. */
import { deepEqual, equal } from "node:assert/strict";
import type { EtcdDoubt, Member } from "../../../../workflows/contracts/mod.ts";
import { withoutTaken } from "../../../../workflows/policy/etcd.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import type { Situation, Turn } from "../../../../workflows/policy/turn.ts";
import { type Difference, ill, members, ours, situationOf, told } from "./simulation/picture.ts";

const silent = 'member "cp-9" does not answer: timeout';
const going = [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])];

function planes(machines: Member[], doubts: EtcdDoubt[], difference: Difference = {}): Situation {
  const situation = situationOf(machines, difference);
  return { ...situation, pool: { ...situation.pool, etcd: { seats: [], quorum: { needed: 2, well: 3 }, doubts } } };
}

function seen({ steps, blocked }: Turn): [steps: string[], reason: string | undefined] {
  return [steps.map(told), blocked?.reason];
}

Deno.test("planTurn: drains a control plane when etcd has no problem", () => {
  deepEqual(seen(planTurn(planes(going, []))), [["leave old Leaving 1"], undefined]);
});

Deno.test("K27 planTurn: admits and drains no control plane while etcd has a problem, also in a rollback", () => {
  const waiting = [...members("old", [3, "Ready"]), ...members("new", [1, "Held"])];
  for (const situation of [{}, { rollingBack: true }]) {
    deepEqual(seen(planTurn(planes(going, [{ says: silent }], { situation }))), [[], "EtcdInDoubt"]);
    deepEqual(seen(planTurn(planes(waiting, [{ says: silent }], { situation }))), [[], "EtcdInDoubt"]);
  }
});

Deno.test("planTurn: reports problems of etcd, except those of a joining machine", () => {
  const doubts = [{ machine: "new Joining 1", says: "it is a learner" }];
  const joining = [...members("old", [3, "Ready"]), ...members("new", [1, "Joining"])];
  const busy = { joining: ["new Joining 1"] };
  equal(planTurn(planes(joining, doubts, { busy })).blocked, null);
  equal(planTurn(planes(going, [{ says: silent }, ...doubts])).blocked?.message, `${silent}; and 1 more`);
});

Deno.test("planTurn: repairs a control plane when its own member is the only problem of etcd, and not otherwise", () => {
  const machines = members("new", [2, "Ready"], [1, "NotReady", ill]);
  const own = { machine: "new NotReady 1", says: silent };
  deepEqual(seen(planTurn(planes(machines, [own])))[0], ["repair new NotReady 1"]);
  deepEqual(seen(planTurn(planes(machines, [own, { says: "etcd has no leader" }])))[0], []);
});

Deno.test("planTurn: repairs a control plane with a lost member while another machine joins or leaves, unless etcd has another problem", () => {
  const [lost, own] = ["old NotReady 1", { machine: "old NotReady 1", says: silent }];
  const joining = (mark: Partial<Member>): Member[] => [
    ...members("old", [2, "Ready"], [1, "NotReady", { ...ill, ...mark }]),
    ...members("new", [1, "Joining"]),
  ];
  const busy = { joining: ["new Joining 1"] };
  for (const mark of [{}, ours]) {
    deepEqual(seen(planTurn(planes(joining(mark), [own], { busy })))[0], [`repair ${lost}`]);
    const learner = { machine: "new Joining 1", says: "it is a learner" };
    deepEqual(seen(planTurn(planes(joining(mark), [own, learner], { busy })))[0], []);
    const repairing = { ...busy, repairing: [lost] };
    deepEqual(seen(planTurn(planes(joining(mark), [own], { busy: repairing })))[0], []);
  }
  const leaving = [
    ...members("old", [1, "Ready"], [1, "NotReady", ill], [1, "Leaving", ours]),
    ...members("new", [1, "Ready"]),
  ];
  deepEqual(seen(planTurn(planes(leaving, [own], { busy: { leaving: ["old Leaving 1"] } })))[0], [`repair ${lost}`]);
});

Deno.test("planTurn: drains no control plane while policies conflict", () => {
  deepEqual(seen(planTurn(planes(going, [], { rules: { conflict: "a and b" } })))[0], []);
});

Deno.test("withoutTaken: removes only the problems that a person accepted", () => {
  const { pool } = planes(going, [{ says: silent }, { says: "etcd has no leader" }]);
  deepEqual(withoutTaken(pool, [silent]).etcd?.doubts, [{ says: "etcd has no leader" }]);
  equal(withoutTaken(pool, []), pool);
});
