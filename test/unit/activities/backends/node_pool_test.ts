/** Valid and invalid fields of a NodePool, and of the annotation of a node. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { lockOf } from "../../../../activities/backends/node_pool/lock.ts";
import { noteOf, withFailure } from "../../../../activities/backends/node_pool/note.ts";
import { hashOf, observedOf } from "../../../../activities/backends/node_pool/wanted.ts";
import { NodePool } from "../../../../activities/kube/node_pools.ts";

const digest = `sha256:${"a".repeat(64)}`;
const metadata = { namespace: "fleet", name: "edge", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const spec = {
  nodeSelector: { matchLabels: { pool: "edge" } },
  driver: "bootc",
  image: { reference: `registry.example/os@${digest}` },
};

Deno.test("H4 H5 H16 NodePool: refuses a Kubernetes version", () => {
  ok(NodePool.safeParse({ metadata, spec }).success);
  ok(!NodePool.safeParse({ metadata, spec: { ...spec, kubeVersion: "1.36.1" } }).success);
});

Deno.test("H6 NodePool: refuses a tag, and two images", () => {
  for (const image of [{ reference: "registry.example/os:1" }, { ...spec.image, osImage: "edge" }, {}]) {
    ok(!NodePool.safeParse({ metadata, spec: { ...spec, image } }).success, JSON.stringify(image));
  }
});

Deno.test("node annotation: ignores a value that does not match the schema", () => {
  const none = noteOf({});
  const of = (text: string): unknown => noteOf({ "ostler.dev/node-os": text });
  for (
    const text of [
      "",
      "no JSON",
      "[]",
      '{"booted":"latest"}',
      `{"bootId":"${"x".repeat(65)}"}`,
      `"${"x".repeat(5000)}"`,
    ]
  ) {
    deepEqual(of(text), none, text.slice(0, 40));
  }
  deepEqual(of(JSON.stringify({ bootId: "b", booted: digest })), { ...none, bootId: "b", booted: digest });
});

Deno.test("annotations of a node: ignores a time that no date can have, which a node can write", () => {
  const failed = [{ digest, reason: "UpdateLost", at: 1e300 }];
  deepEqual(noteOf({ "ostler.dev/node-os": JSON.stringify({ failed }) }), noteOf({}));
  const lock = { id: "a", group: "default", asked: 1, held: 1e300 };
  equal(lockOf({ "ostler.dev/fleet-lock": JSON.stringify(lock) }), undefined);
});

Deno.test("node annotation: keeps the last five failures, each image once", () => {
  const failure = (nth: number, at = nth): { digest: string; reason: string; at: number } => {
    return { digest: `sha256:${String(nth).repeat(64)}`, reason: "UpdateLost", at };
  };
  const note = [1, 2, 3, 4, 5, 6].reduce((all, nth) => withFailure(all, failure(nth)), noteOf({}));
  deepEqual(note.failed.map(({ at }) => at), [2, 3, 4, 5, 6]);
  deepEqual(withFailure(note, failure(3, 9)).failed.map(({ at }) => at), [2, 4, 5, 6, 9]);
});

Deno.test("NodePool: the observed state contains UID, generation and deletion of the NodePool, and the digest of its OSImage", () => {
  const object = { metadata: { ...metadata, generation: 3 } };
  equal(observedOf(object), "u/3");
  equal(observedOf(object, digest), `u/3/${hashOf(digest)}`);
  equal(observedOf({ metadata: { ...object.metadata, deletionTimestamp: "t" } }), "u/3/deleting");
});
