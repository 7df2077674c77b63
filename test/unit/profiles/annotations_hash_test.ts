import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { annotationsHash } from "../../../profiles/mod.ts";

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

// The two expected hashes are known values of Operating System Manager.
Deno.test("annotationsHash: returns the hash that Operating System Manager writes for the same annotations", () => {
  const plain = {
    "machinedeployment.clusters.k8s.io/revision": "1",
    "k8c.io/operating-system-profile": "osp-ubuntu",
  };
  assert.equal(annotationsHash(plain), "240e92a138b73a540fc8f38a171c511995e6c10890b9af15f92f5a8b84136765");
  const kubelet = {
    ContainerLogMaxSize: "300Mi",
    ContainerLogMaxFiles: "30",
    MaxPods: "110",
    SystemReserved: "ephemeral-storage=30Gi,cpu=30m",
    KubeReserved: "ephemeral-storage=30Gi,cpu=30m",
    EvictionHard: "memory.available<30Mi",
  };
  const prefix = "v1.kubelet-config.machine-controller.kubermatic.io/";
  const tuned = Object.fromEntries(Object.entries(kubelet).map(([key, value]) => [prefix + key, value]));
  assert.equal(
    annotationsHash({ ...tuned, ...plain }),
    "db7ff021c8a496bfbf5511482e26a4a4039c99d745d9360c3d518f26f3b6ee2c",
  );
});

Deno.test("annotationsHash: sorts keys by bytes and escapes as Go does", () => {
  // In UTF-16, the order of JavaScript, the emoji comes before the private-use character.
  const given = { "\u{1f600}": "<&>", "\ue000": "\u2028\b\f\x7f\x01", a: 'é"\\' };
  const json = `{"a":"é\\"\\\\","\ue000":"\\u2028\\b\\f\x7f\\u0001","\u{1f600}":"\\u003c\\u0026\\u003e"}`;
  assert.equal(annotationsHash(given), sha256(json));
  assert.equal(annotationsHash({}), sha256("{}"));
});
