import { deepEqual } from "node:assert/strict";
import {
  groupOfPool,
  holderOfUpgrade,
  poolOfGroup,
  upgradeIdOf,
} from "../../../../workflows/commands/start_options.ts";

Deno.test("upgradeIdOf: names the NodeVersion and its cluster", () => {
  deepEqual([upgradeIdOf({ name: "v" }), upgradeIdOf({ cluster: "east", name: "v" })], [
    ...["upgrade-kubernetes/v", "east/upgrade-kubernetes/v"],
  ]);
});

Deno.test("holderOfUpgrade: is not the pool of any group, so that no run of a group gives its slot back", () => {
  const holder = holderOfUpgrade({ cluster: "east", name: "v" });
  deepEqual(holder, {
    ...{ cluster: "east", kind: "ScalingGroup", namespace: "kube-system", name: "upgrade-kubernetes.v" },
  });
  deepEqual([groupOfPool(holder), poolOfGroup("v", "east").name === holder.name], [undefined, false]);
});
