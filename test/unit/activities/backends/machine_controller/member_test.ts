import { deepEqual, equal } from "node:assert/strict";
import { Machine } from "../../../../../activities/kube/resources.ts";
import { memberOf } from "../../../../../activities/backends/machine_controller/observe_pool.ts";
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import { hold, holder, machine, mark, pool } from "../../../../support/machine_objects.ts";
import type { MachineOverrides } from "../../../../support/machine_objects.ts";

function memberWith(overrides: MachineOverrides): Member {
  return memberOf(pool, Machine.parse(machine("a", overrides)));
}

Deno.test("memberOf: returns everything that the planner needs", () => {
  deepEqual(memberWith({ annotations: { [mark]: holder, [hold]: holder } }), {
    ...{ id: "a", node: "node-a", templateHash: "hash-1", image: "docker://example/ubuntu:1", kubelet: "1.35.3" },
    ...{ phase: "Ready", since: "2026-01-01T00:00:00.000Z", marked: true, held: true, expendable: false },
  });
});

const nodeRef = { name: "node-a" };
const phases: [string, MachineOverrides, Member["phase"]][] = [
  ["held before an instance was ordered", { annotations: { [hold]: holder }, finalizers: [], status: {} }, "Held"],
  ["held by another controller", { annotations: { [hold]: "other" }, finalizers: [], status: {} }, "Held"],
  ["without instance and hold", { finalizers: [], status: {} }, "Provisioning"],
  ["with an instance and no node", { status: {} }, "Booting"],
  ["with an instance, held again", { annotations: { [hold]: holder }, status: {} }, "Booting"],
  ["with a node that was never Ready", { status: { nodeRef } }, "Joining"],
  ["with a Ready condition and a node", {}, "Ready"],
  ["whose node was lost", { status: { conditions: [{ type: "Ready", status: "True" }] } }, "NotReady"],
  [
    "with a Ready condition that is not True",
    { status: { nodeRef, conditions: [{ type: "Ready", status: "False" }] } },
    "Joining",
  ],
  ["that is being deleted", { metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } }, "Leaving"],
];

for (const [what, overrides, phase] of phases) {
  Deno.test(`memberOf: returns ${phase} for a machine ${what}`, () => equal(memberWith(overrides).phase, phase));
}

Deno.test("memberOf: recognizes only our own hold and mark", () => {
  const { marked, held, expendable } = memberWith({ annotations: { [mark]: "a person", [hold]: "a controller" } });
  deepEqual([marked, held, expendable], [false, false, true]);
});

Deno.test("memberOf: treats a machine with an error as expendable, as machine-controller does", () => {
  equal(memberWith({ status: { errorReason: "CreateError", errorMessage: "no quota" } }).expendable, true);
});
