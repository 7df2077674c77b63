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

Deno.test("messages: each signal, query and update is registered with the name of its constant", () => {
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

Deno.test("holderOf: returns the ID of the workflow that may remove the hold or mark", () => {
  equal(holderOf(pool), workflowIdOf(pool));
  equal(workflowIdOf(pool), "machine-deployment/fleet/pool");
  const named = { ...pool, cluster: "north" };
  equal(holderOf(named), workflowIdOf(named));
  equal(workflowIdOf(named), "north/machine-deployment/fleet/pool");
});

Deno.test("workflow IDs: differ by cluster for cluster-scoped objects", () => {
  const ids = (object: { cluster?: string; name: string }): string[] =>
    [joiningNodeIdOf, autoscalerIdOf, nodeVersionIdOf].map((idOf) => idOf(object));
  deepEqual(ids({ name: "a" }), ["joining-node/a", "autoscaling-strategy/a", "node-version/a"]);
  deepEqual(ids({ cluster: "north", name: "a" }), ids({ name: "a" }).map((id) => `north/${id}`));
  equal(workflowIdOf(poolOfGroup("a")), "scaling-group/a");
  equal(workflowIdOf(poolOfGroup("a", "north")), "north/scaling-group/a");
});

Deno.test("isOwnHold: accepts a hold that has any name of the cluster, and refuses a hold of another pool", () => {
  const named = { ...pool, cluster: "north" };
  for (const own of [pool, named, { ...pool, cluster: "south" }]) {
    for (const cluster of ["", "north/", "south/"]) {
      equal(isOwnHold(own, `${cluster}machine-deployment/fleet/pool`), true);
      equal(isOwnHold(own, `${cluster}machine-deployment/fleet/other`), false);
      equal(isOwnHold(own, `${cluster}node-pool/fleet/pool`), false);
    }
  }
  for (const value of [undefined, "", "pool", "a/b/machine-deployment/fleet/pool", "true"]) {
    equal(isOwnHold(named, value), false);
  }
});

Deno.test("start options: omit the cluster from ID, input and search attributes when the cluster does not have a name", () => {
  const plain = { ...pool };
  deepEqual(poolOf({ ...plain, kind: "MachineDeployment" }), { ...plain, kind: "MachineDeployment" });
  equal(workflowIdOf({ ...plain, kind: "MachineDeployment" }), workflowIdOf(plain));
  deepEqual(shownAtStart(plain).typedSearchAttributes.map(({ key }) => key.name), [
    ...["KubernetesNamespace", "MachineDeployment", "Phase"],
  ]);
  equal(shownAtStart({ ...plain, cluster: "north" }).typedSearchAttributes[0]?.value, "north");
});

Deno.test("groupOfPool, groupNameOf: return the name of the scaling group that poolOfGroup was called with", () => {
  for (const name of ["workers", "a.b", "scaling-group.x"]) {
    deepEqual([groupOfPool(poolOfGroup(name)), groupNameOf(poolOfGroup(name))], [name, name]);
  }
  deepEqual([groupOfPool(pool), groupOfPool({ ...poolOfGroup("a"), namespace: "other" })], [undefined, undefined]);
  equal(isOwnHold(poolOfGroup("a", "north"), holderOf(poolOfGroup("a"))), true);
  equal(isOwnHold({ ...poolOfGroup("a"), kind: "MachineDeployment" }, holderOf(poolOfGroup("a"))), false);
});
