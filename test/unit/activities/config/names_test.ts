import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { namesOf } from "../../../../profiles/mod.ts";
import { claim } from "../../../../activities/config/identity.ts";

Deno.test("namesOf: returns the names of Operating System Manager", () => {
  deepEqual(namesOf({ namespace: "kube-system", name: "pool" }), {
    config: "pool-kube-system-config",
    provisioning: "pool-kube-system-provisioning-config",
    bootstrap: "pool-kube-system-bootstrap-config",
    kubeletBootstrap: "kube-system-pool-kubelet-bootstrap-config",
    edgeScript: "edge-provider-script-pool-kube-system",
    identity: "ostler-pool-kube-system",
    bootReport: "ostler-boot-pool-kube-system",
    key: "kube-system-pool",
  });
});

Deno.test("namesOf: uses only the name as key when namespace and name together are too long for a label", () => {
  const key = (name: string): string => namesOf({ namespace: "ns", name }).key;
  equal(key("a".repeat(59)), `ns-${"a".repeat(59)}`);
  equal(key("a".repeat(60)), "a".repeat(60));
});

Deno.test("namesOf: ends the key in a hash when the name alone is too long for a label", () => {
  const key = (name: string, namespace = "ns"): string => namesOf({ namespace, name }).key;
  equal(key("a".repeat(63)), "a".repeat(63));
  match(key("a".repeat(64)), /^a{52}-[0-9a-f]{10}$/);
  notEqual(key("a".repeat(64)), key("a".repeat(65)));
  notEqual(key("a".repeat(64)), key("a".repeat(64), "other"));
  match(key(`${"a".repeat(51)}.${"b".repeat(20)}`), /^a{51}-[0-9a-f]{10}$/);
});

Deno.test("namesOf: the names of two pools can collide, and claim refuses an object that the other pool owns", async () => {
  const one = { namespace: "b-c", name: "a" };
  const other = { namespace: "c", name: "a-b" };
  equal(namesOf(one).bootstrap, namesOf(other).bootstrap);
  const refuse = (): Promise<void> =>
    Promise.resolve().then(() => claim(other, "it", { "ostler.dev/machine-deployment": "b-c/a" }));
  await rejects(refuse(), { type: "NameCollision", nonRetryable: true });
});

Deno.test("claim: accepts the pool's own artefacts and those without an owner", () => {
  const mine = { namespace: "c", name: "a-b" };
  claim(mine, "it", { "ostler.dev/machine-deployment": "c/a-b" });
  claim(mine, "it", { other: "x" });
  claim(mine, "it", undefined);
});
