/** The rollback of a NodePool to its last good image, with an API server in memory. */
import { deepEqual, rejects } from "node:assert/strict";
import { hashOf, restoreImage } from "../../../../activities/backends/node_pool/wanted.ts";
import { poolOfNodePool } from "../../../../workflows/commands/node_pool.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const pool = poolOfNodePool("fleet", "edge");
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const imageOf = (letter: string): string => `registry.example/os@${digestOf(letter)}`;

function specOf(letter: string): object {
  return { nodeSelector: { matchLabels: { pool: "edge" } }, driver: "bootc", image: { reference: imageOf(letter) } };
}

function put(kube: FakeKube, letter: string): void {
  kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge", uid: "u" }, spec: specOf(letter) });
}

/** Returns a NodePool with this image, whose last good image is "a". */
function poolWith(letter: string): FakeKube {
  const kube = new FakeKube();
  put(kube, letter);
  const hash = hashOf(digestOf("a"));
  const lastGood = { templateHash: hash, specHash: hash, revision: "r", image: imageOf("a"), kubelet: "" };
  kube.put("rollouts", {
    metadata: { namespace: pool.namespace, name: pool.name },
    status: { lastGood: { ...lastGood, configDigest: "" } },
  });
  return kube;
}

/** Rolls back from image "b". */
function restore(kube: FakeKube): Promise<{ changed: boolean }> {
  const hash = hashOf(digestOf("b"));
  const order = { pool, by: "policy", reason: "it does not boot", bad: { specHash: hash, templateHash: hash } };
  return inActivity(() => restoreImage(kube.client, order));
}

function referenceIn(kube: FakeKube): unknown {
  return (kube.get("nodepools", "edge", "fleet")?.["spec"] as { image: { reference: string } }).image.reference;
}

Deno.test("restoreImage: replaces the bad image that the order names, and does nothing the second time", async () => {
  const kube = poolWith("b");
  deepEqual([await restore(kube), referenceIn(kube)], [{ changed: true }, imageOf("a")]);
  deepEqual([await restore(kube), referenceIn(kube)], [{ changed: false }, imageOf("a")]);
});

Deno.test("restoreImage: keeps an image that a user wrote after the bad one", async () => {
  const kube = poolWith("c");
  deepEqual([await restore(kube), referenceIn(kube), kube.writes], [{ changed: false }, imageOf("c"), []]);
});

Deno.test("restoreImage: overwrites no image that a user writes during the rollback", async () => {
  const kube = poolWith("b");
  kube.onRequest = (request) => {
    if (request.startsWith("patch nodepools")) put(kube, "c");
  };
  await rejects(restore(kube), { type: "ApiUnavailable" });
  deepEqual([await restore(kube), referenceIn(kube)], [{ changed: false }, imageOf("c")]);
});
