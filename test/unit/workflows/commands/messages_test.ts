import { deepEqual, equal } from "node:assert/strict";
import { holderOf, isOwnHold } from "../../../../activities/node/holder.ts";
import {
  autoscalerIdOf,
  groupOfPool,
  joiningNodeIdOf,
  nodeVersionIdOf,
  poolOf,
  poolOfGroup,
  shownAtStart,
  workflowIdOf,
} from "../../../../workflows/commands/start_options.ts";
import * as messages from "../../../../workflows/commands/messages.ts";
import { groupNameOf } from "../../../../activities/backends/scaling_group/sight.ts";
import { pool } from "../../../support/machine_objects.ts";

Deno.test("every message bears on the wire the name of its constant", () => {
  const names = Object.entries(messages).map(([constant, { name }]) => [constant, name]);
  deepEqual(names.map(([, name]) => name), names.map(([constant]) => constant));
  deepEqual(names.map(([constant]) => constant).sort(), [
    ...["abort", "abortRequested", "approve", "approveRequested", "autoscalingChanged", "desiredChanged"],
    ...[
      "imageChanged",
      "joiningChanged",
      "nodeVersionChanged",
      "pause",
      "pauseRequested",
      "progress",
      "promote",
      "promoteRequested",
      "resume",
    ],
    ...["resumeRequested", "retry", "retryRequested", "skip", "skipRequested"],
  ]);
});

Deno.test("holds and marks bear the id of the workflow that may take them back", () => {
  equal(holderOf(pool), workflowIdOf(pool));
  equal(workflowIdOf(pool), "machine-deployment/fleet/pool");
  const named = { ...pool, cluster: "north" };
  equal(holderOf(named), workflowIdOf(named));
  equal(workflowIdOf(named), "north/machine-deployment/fleet/pool");
});

Deno.test("what is in no namespace has an id of its own in each cluster", () => {
  const ids = (object: { cluster?: string; name: string }): string[] =>
    [joiningNodeIdOf, autoscalerIdOf, nodeVersionIdOf].map((idOf) => idOf(object));
  deepEqual(ids({ name: "a" }), ["joining-node/a", "autoscaling-strategy/a", "node-version/a"]);
  deepEqual(ids({ cluster: "north", name: "a" }), ids({ name: "a" }).map((id) => `north/${id}`));
  equal(workflowIdOf(poolOfGroup("a")), "scaling-group/a");
  equal(workflowIdOf(poolOfGroup("a", "north")), "north/scaling-group/a");
});

Deno.test("a hold of before the cluster had a name is the pool's own, one of another cluster is not", () => {
  const named = { ...pool, cluster: "north" };
  equal(isOwnHold(named, "machine-deployment/fleet/pool"), true);
  equal(isOwnHold(named, "north/machine-deployment/fleet/pool"), true);
  equal(isOwnHold(named, "south/machine-deployment/fleet/pool"), false);
  equal(isOwnHold(pool, "north/machine-deployment/fleet/pool"), false);
  equal(isOwnHold(named, undefined), false);
});

Deno.test("a pool of an installation without a name starts with the id, input and columns that it always had", () => {
  const plain = { ...pool };
  deepEqual(poolOf({ ...plain, kind: "MachineDeployment" }), { ...plain, kind: "MachineDeployment" });
  equal(workflowIdOf({ ...plain, kind: "MachineDeployment" }), workflowIdOf(plain));
  deepEqual(shownAtStart(plain).typedSearchAttributes.map(({ key }) => key.name), [
    ...["KubernetesNamespace", "MachineDeployment", "Phase"],
  ]);
  equal(shownAtStart({ ...plain, cluster: "north" }).typedSearchAttributes[0]?.value, "north");
});

Deno.test("a scaling group has one name as a pool, for whoever reads it", () => {
  for (const name of ["workers", "a.b", "scaling-group.x"]) {
    deepEqual([groupOfPool(poolOfGroup(name)), groupNameOf(poolOfGroup(name))], [name, name]);
  }
  deepEqual([groupOfPool(pool), groupOfPool({ ...poolOfGroup("a"), namespace: "other" })], [undefined, undefined]);
  equal(isOwnHold(poolOfGroup("a", "north"), holderOf(poolOfGroup("a"))), true);
  equal(isOwnHold({ ...poolOfGroup("a"), kind: "MachineDeployment" }, holderOf(poolOfGroup("a"))), false);
});
