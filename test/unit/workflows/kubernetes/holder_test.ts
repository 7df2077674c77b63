import { deepEqual } from "node:assert/strict";
import {
  certificatesIdOf,
  groupOfPool,
  holderOfRenewal,
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

Deno.test("holderOfRenewal: is neither the upgrade's nor the pool of any group, so that each waits for the other's slot", () => {
  const holder = holderOfRenewal({ cluster: "east", name: "v" });
  deepEqual(holder, {
    ...{ cluster: "east", kind: "ScalingGroup", namespace: "kube-system", name: "renew-certificates.v" },
  });
  deepEqual([groupOfPool(holder), holderOfUpgrade({ cluster: "east", name: "v" }).name === holder.name], [
    undefined,
    false,
  ]);
});

Deno.test("certificatesIdOf: names the NodeVersion and its cluster", () => {
  deepEqual([certificatesIdOf({ name: "v" }), certificatesIdOf({ cluster: "east", name: "v" })], [
    ...["renew-certificates/v", "east/renew-certificates/v"],
  ]);
});
