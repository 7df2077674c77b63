/**
 * A management cluster also contains configs of other clusters: the pools of those configs, which this cluster does not
 * have, do not count as deleted pools.
 */
import { deepEqual } from "node:assert/strict";
import { clusterAnnotation } from "../../../../activities/config/identity.ts";
import { ownerAnnotation } from "../../../../activities/config/names.ts";
import { keyOf, readPools } from "../../../../activities/handover/pools.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

function config(name: string, mark: Record<string, string>): { metadata: { name: string; namespace: string } } {
  const annotations = { [ownerAnnotation]: `fleet/${name}`, ...mark };
  return { metadata: { name: `${name}-fleet-config`, namespace: "north", annotations } } as never;
}

Deno.test("readPools: lists a deleted pool that still has a config of this cluster, and no pool whose config belongs to another cluster", async () => {
  const kube = new FakeKube();
  kube.put("namespaces", { metadata: { name: "kube-system", uid: "this" } });
  kube.put("operatingsystemconfigs", config("own", { [clusterAnnotation]: "this" }));
  kube.put("operatingsystemconfigs", config("plain", {}));
  kube.put("operatingsystemconfigs", config("theirs", { [clusterAnnotation]: "that" }));
  const pools = await readPools(kube.client, { profileNamespace: "north" });
  deepEqual(pools.map(keyOf), ["fleet/own", "fleet/plain"]);
});
