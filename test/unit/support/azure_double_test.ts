/** The double of Azure applies a change later, as Azure does, and validates requests and its own answers. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { spec, type World, worldOf } from "../../support/clouds/azure_world.ts";

interface Answer {
  status: number;
  etag: string;
  state: string;
  size: number;
  code: string;
}

async function ask({ stub }: World, body?: object): Promise<Answer> {
  const sent = body ? { method: "PATCH", body: JSON.stringify(body) } : {};
  const response = await fetch(`${stub.url}${spec.id}?api-version=2026-04-01`, sent);
  const { etag = "", properties = {}, sku, error } = await response.json();
  const { provisioningState: state = "" } = properties;
  return { status: response.status, etag, state, size: sku?.capacity ?? 0, code: error?.code ?? "" };
}

async function states({ stub }: World): Promise<string[]> {
  const path = `${spec.id}/virtualMachines?api-version=2026-04-01&$skiptoken=`;
  const pages = await Promise.all([0, 2].map(async (skip) => await (await fetch(`${stub.url}${path}${skip}`)).json()));
  return pages.flatMap(({ value }) => value).map(({ properties }) => properties.provisioningState);
}

Deno.test("fault G14: Azure's double reports Updating after a change of size, and lists the new instance later", async () => {
  await using world = worldOf({ workMs: 3_600_000 });
  const before = await ask(world);
  const changed = await ask(world, { sku: { capacity: 3 } });
  deepEqual([before.state, changed.status, changed.state, changed.size], ["Succeeded", 200, "Updating", 3]);
  deepEqual([(await ask(world)).state, (await states(world)).length], ["Updating", 2]);
  world.stub.ground.lagMs = 0;
  deepEqual(await states(world), ["Creating", "Creating", "Creating"]);
  const { etag } = await ask(world);
  world.stub.ground.finish();
  const after = await ask(world);
  deepEqual([after.state, after.etag === etag], ["Succeeded", false]);
});

Deno.test("fault G14: Azure's double refuses a change while another is in progress", async () => {
  await using world = worldOf({ workMs: 3_600_000 });
  await ask(world, { sku: { capacity: 3 } });
  const { status, code } = await ask(world, { tags: {} });
  deepEqual([status, code, (await ask(world)).size], [409, "Conflict", 3]);
  world.stub.ground.finish();
  equal((await ask(world, { tags: {} })).status, 200);
});

Deno.test("fault G14: Azure's double fails the test after an answer that differs from Azure's API description", async () => {
  const world = worldOf({ properties: { speed: 1 } });
  await ask(world);
  await rejects(async () => await world[Symbol.asyncDispose](), {
    message: /wrong answer of the double: .*properties has no field "speed"/,
  });
});
