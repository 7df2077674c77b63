import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { notesOf, tagsWith } from "../../../../../activities/clouds/azure/notes.ts";
import { spec, tagsOf, truthOf, worldOf } from "../../../../support/clouds/azure_world.ts";

const group = spec.id;

Deno.test("openAzure: records hundreds of orders beside other tags, and orders nothing that it cannot record", async () => {
  const others = { "constellation-uid": "c", "a/b": "c:d@e,f", "ostler-of-somebody": "x" };
  const orders = new Map(Array.from({ length: 900 }, (_, id) => [id + 7, `a-node-group-of-somebody-new-${id}`]));
  const notes = { open: { token: "a b:c@1,%", after: -1, since: 5_000 }, makeUpFor: [3, 4], orders };
  const tags = tagsWith(others, notes);
  deepEqual(notesOf(tags), notes);
  deepEqual(tagsWith(tags, { open: undefined, makeUpFor: [], orders: new Map() }), others);
  ok(Object.values(tags).every((value) => value.length <= 256) && Object.keys(tags).length <= 50);
  await using world = worldOf();
  const found = world.cloud.group(group);
  ok(found);
  for (let nth = 0; nth < 45; nth++) world.stub.ground.setTags(found, { ...tagsOf(world), [`theirs-${nth}`]: "" });
  await rejects((await world.open()).order({ group, token: "t" }), {
    type: "CloudRefused",
    message: /50 tags of at most 256 characters do not suffice/,
  });
  equal(found.size, 2);
});

Deno.test("fault G14: openAzure records that the instance of an open order failed", () => {
  const failed = { id: 7, code: "AllocationFailed" };
  const notes = { open: { token: "7!8:a b", after: 6, since: 5_000, failed }, makeUpFor: [], orders: new Map() };
  const tags = tagsWith({}, notes);
  deepEqual([tags, notesOf(tags)], [{ "ostler-open-order": "6 5!7:AllocationFailed 7!8:a b" }, notes]);
});

Deno.test("openAzure: places no order whose token would not fit into the tags that record ended orders", async () => {
  await using world = worldOf();
  // The tag of the open order has room for this token unchanged, but the encoded token does not fit into the tags of
  // ended orders.
  const order = (await world.open()).order({ group, token: "é".repeat(60) });
  await rejects(order, { type: "CloudRefused", message: /50 tags of at most 256 characters do not suffice/ });
  equal(truthOf(world).size, 2);
});
