/** A compromised node can fill the annotations of its Node, and must not prevent its replacement by that. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { readFleet } from "../../../../../activities/backends/scaling_group/old_records.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { answer } from "../../../../support/fake_kube.ts";
import { GroupInMemory, next, pool, spec } from "../../../../support/group_in_memory.ts";

const victim = "workers-1";
const machine = "workers-new-1";

/** Returns an outdated group in which the API server refuses each write of a Node for this field. */
function groupWith(field: string): GroupInMemory {
  const group = new GroupInMemory();
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const causes = [{ reason: "FieldValueTooLong", message: "Too long", field }];
  const body = { kind: "Status", code: 422, reason: "Invalid", message: "is invalid", details: { causes } };
  group.kube.onRequest = (request) => {
    if (!request.startsWith("patch nodes")) return;
    throw Object.assign(answer(422, "Invalid"), { body: JSON.stringify(body) });
  };
  return group;
}

Deno.test("fault choose, release: replace a machine whose Node has no room for annotations; its order then marks it", async () => {
  const group = groupWith("metadata.annotations");
  const { orders } = group.backend;
  await orders.choose({ pool, machine: victim });
  equal((await group.backend.member({ pool, machine: victim }))?.marked, false);
  await orders.admit({ pool, machine, victim });
  equal((await group.backend.member({ pool, machine: victim }))?.marked, true);
  await orders.release({ pool, machine: victim });
  equal(group.cloud.instances().find(({ node }) => node === victim)?.state, "Terminating");
});

Deno.test("fault readFleet: counts a node without room for annotations with the group and image of its instance", async () => {
  const group = groupWith("metadata.annotations");
  const question = { isAsked: true, target: next, converged: [], controlPlanes: [] };
  const { nodes } = await readFleet(group.client, [spec.id], question);
  deepEqual(nodes.map((node) => [node.name, node.group]), ["1", "2", "3"].map((nth) => [`workers-${nth}`, spec.id]));
});

Deno.test("fault choose: fails when the API server refuses a Node for another reason", async () => {
  const group = groupWith("metadata.labels");
  await rejects(group.backend.orders.choose({ pool, machine: victim }), { type: "ObjectInvalid" });
});
