import { deepEqual } from "node:assert/strict";
import { joinedMachines, ownedSets } from "../../../../../activities/backends/machine_controller/watch_all.ts";

const metadata = { name: "x", namespace: "fleet", uid: "u", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z" };

function machine(overrides: { metadata?: object; status?: object } = {}): unknown {
  const ownerReferences = [{ kind: "MachineSet", name: "web-1", uid: "s" }];
  return {
    metadata: { ...metadata, ownerReferences, ...overrides.metadata },
    spec: {},
    status: { nodeRef: { name: "w-1" }, conditions: [{ type: "Ready", status: "True" }], ...overrides.status },
  };
}

Deno.test("joinedMachines: keeps set and node of a joined machine", () => {
  deepEqual(joinedMachines.schema.parse(machine()), { set: "fleet/web-1", node: "w-1" });
});

Deno.test("joinedMachines: drops machines that have not joined, are leaving, or have no set", () => {
  const others = [
    machine({ status: { conditions: [] } }),
    machine({ status: { nodeRef: null } }),
    machine({ metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } }),
    machine({ metadata: { ownerReferences: [] } }),
  ];
  for (const other of others) deepEqual(joinedMachines.schema.parse(other), {});
});

Deno.test("ownedSets: keeps the MachineDeployment that owns a set", () => {
  const ownerReferences = [{ kind: "MachineDeployment", name: "web", uid: "d" }];
  deepEqual(ownedSets.schema.parse({ metadata: { ...metadata, ownerReferences } }), { pool: "fleet/web" });
  deepEqual(ownedSets.schema.parse({ metadata }), {});
});
