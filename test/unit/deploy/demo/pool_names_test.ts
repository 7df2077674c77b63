import assert from "node:assert/strict";
import { isOfPool, poolSecrets } from "../../../../deploy/local/observer/pool_names.ts";

Deno.test("poolSecrets: returns the three secrets and the data key of each", () => {
  assert.deepEqual(poolSecrets({ namespace: "kube-system", name: "pool" }), {
    "pool-kube-system-provisioning-config": "cloud-config",
    "pool-kube-system-bootstrap-config": "cloud-config",
    "kube-system-pool-kubelet-bootstrap-config": "kubeconfig",
  });
});

Deno.test("poolSecrets: omits the namespace from the name of the kubeconfig Secret when namespace and name reach 63 characters", () => {
  const kubelet = (name: string) => Object.keys(poolSecrets({ namespace: "kube-system", name })).at(-1);
  const fits = "p".repeat(50);
  assert.equal(kubelet(fits), `kube-system-${fits}-kubelet-bootstrap-config`);
  assert.equal(kubelet(`${fits}p`), `${fits}p-kubelet-bootstrap-config`);
});

Deno.test("isOfPool: distinguishes the machines of a pool from those of a pool with a longer name", () => {
  const pool = { namespace: "kube-system", name: "pool" };
  assert.equal(isOfPool(pool, "pool-68b8795644-x2x9k"), true);
  assert.equal(isOfPool(pool, "pool-b-68b8795644-x2x9k"), false);
  assert.equal(isOfPool(pool, "pools-68b8795644-x2x9k"), false);
  assert.equal(isOfPool(pool, "pool-68b8795644"), false);
});
