import { deepEqual } from "node:assert/strict";
import {
  certificatesIdOf,
  groupOfPool,
  holderOfRenewal,
  holderOfUpgrade,
  poolOfGroup,
  upgradeIdOf,
} from "../../../../workflows/commands/start_options.ts";

Deno.test("upgradeIdOf: returns a workflow ID with the names of the NodeVersion and its cluster", () => {
  deepEqual([upgradeIdOf({ name: "v" }), upgradeIdOf({ cluster: "east", name: "v" })], [
    ...["upgrade-kubernetes/v", "east/upgrade-kubernetes/v"],
  ]);
});

Deno.test("holderOfUpgrade: differs from the holder of every scaling group, so that no run of a scaling group releases the slot of the upgrade", () => {
  const holder = holderOfUpgrade({ cluster: "east", name: "v" });
  deepEqual(holder, {
    ...{ cluster: "east", kind: "ScalingGroup", namespace: "kube-system", name: "upgrade-kubernetes.v" },
  });
  deepEqual([groupOfPool(holder), poolOfGroup("v", "east").name === holder.name], [undefined, false]);
});

Deno.test("holderOfRenewal: differs from the holders of upgrades and scaling groups, so that a renewal waits while an upgrade or a scaling group has the slot, and vice versa", () => {
  const holder = holderOfRenewal({ cluster: "east", name: "v" });
  deepEqual(holder, {
    ...{ cluster: "east", kind: "ScalingGroup", namespace: "kube-system", name: "renew-certificates.v" },
  });
  deepEqual([groupOfPool(holder), holderOfUpgrade({ cluster: "east", name: "v" }).name === holder.name], [
    undefined,
    false,
  ]);
});

Deno.test("certificatesIdOf: returns a workflow ID with the names of the NodeVersion and its cluster", () => {
  deepEqual([certificatesIdOf({ name: "v" }), certificatesIdOf({ cluster: "east", name: "v" })], [
    ...["renew-certificates/v", "east/renew-certificates/v"],
  ]);
});
