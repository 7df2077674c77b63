import { deepEqual } from "node:assert/strict";
import { instanceOf } from "../../../../../activities/clouds/google/instance_of.ts";
import type { Group } from "../../../../../activities/clouds/google/group.ts";

const group: Group = {
  place: { kind: "zones", where: "z", name: "workers" },
  ...{ id: "projects/p/zones/z/instanceGroupManagers/workers", manager: {}, labels: {}, autoscaler: undefined },
};

Deno.test("instanceOf: reports a machine as UNHEALTHY only after the group has verified it, because a booting machine has no healthy answer yet", () => {
  const troubles = ["VERIFYING", "NONE"].map((currentAction) => {
    const managed = {
      ...{ currentAction, instanceStatus: "RUNNING" },
      instanceHealth: [{ detailedHealthState: "UNHEALTHY" }],
    };
    return instanceOf(group, { place: { zone: "z", name: "a" }, managed, machine: undefined, image: "" }, "p").trouble;
  });
  deepEqual(troubles, ["", "the group reports the instance as UNHEALTHY"]);
});
