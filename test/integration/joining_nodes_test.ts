/** Nodes that a join service lets in are annotated by what their records say, whoever comes first and whatever is killed. */
import assert from "node:assert/strict";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const apiVersion = "update.edgeless.systems/v1alpha1";
const records = `/apis/${apiVersion}/joiningnodes`;
const components = "constellation.edgeless.systems/kubernetes-components";

const stories: [name: string, story: (world: World) => Promise<void>][] = [
  ["JN1 the record comes first, and the worker is killed before the node comes", comesLater],
  ["JN2 the node was there first", wasThere],
  ["JN3 no node comes until the deadline", neverComes],
];

Deno.test("admitJoiningNode annotates the nodes that records announce, and forgets the records", async (t) => {
  await withWorld({}, async (world) => {
    for (const [name, story] of stories) await t.step(name, () => story(world));
    assert.deepEqual(await world.list(records), []);
  });
});

async function comesLater(world: World): Promise<void> {
  await announce(world, "later");
  const run = world.temporal.workflow.getHandle("joining-node/later");
  await world.until("its run", async () => (await run.describe().catch(() => undefined))?.status.name === "RUNNING");
  world.site.ostler.worker.kill("SIGKILL");
  await world.site.ostler.worker.restart();
  await world.create("/api/v1/nodes", { metadata: { name: "later" } });
  await isAnnotated(world, "later");
  assert.deepEqual(await run.result(), { outcome: "Annotated", node: "later", components: "k8s-components-2" });
}

// What is there and not Ready may be the node of before, which goes: nothing is written on it.
async function wasThere(world: World): Promise<void> {
  await world.create("/api/v1/nodes", { metadata: { name: "there" } });
  // The API server tells times by the second.
  const { metadata } = await world.get<{ metadata: { creationTimestamp: string } }>("/api/v1/nodes/there") ??
    assert.fail();
  await world.until(
    "another second",
    () => Promise.resolve(Date.now() > Date.parse(metadata.creationTimestamp) + 1_000),
  );
  await announce(world, "there");
  const run = world.temporal.workflow.getHandle("joining-node/there");
  await world.until("its run", async () => (await run.describe().catch(() => undefined))?.status.name === "RUNNING");
  assert.equal(await annotationOf(world, "there"), undefined);
  await world.patch("/api/v1/nodes/there/status", { status: { conditions: [{ type: "Ready", status: "True" }] } });
  await isAnnotated(world, "there");
}

async function neverComes(world: World): Promise<void> {
  await announce(world, "never", { deadline: new Date(Date.now() + 2_000).toISOString() });
  await world.until("the record to go", async () => !await world.get(`${records}/never`));
  const events = await world.list<{ reason: string; involvedObject: { name: string } }>(
    "/api/v1/namespaces/default/events",
  );
  const told = events.filter(({ involvedObject }) => involvedObject.name === "never").map(({ reason }) => reason);
  assert.deepEqual(told, ["JoinExpired"]);
}

async function announce(world: World, name: string, spec: object = {}): Promise<void> {
  const given = { name, componentsreference: "k8s-components-2", iscontrolplane: false, ...spec };
  await world.create(records, { apiVersion, kind: "JoiningNode", metadata: { name }, spec: given });
}

async function isAnnotated(world: World, name: string): Promise<void> {
  await world.until("the annotation", async () => await annotationOf(world, name) === "k8s-components-2");
  await world.until("the record to go", async () => !await world.get(`${records}/${name}`));
}

async function annotationOf(world: World, name: string): Promise<string | undefined> {
  const node = await world.get<{ metadata: { annotations?: Record<string, string> } }>(`/api/v1/nodes/${name}`);
  return node?.metadata.annotations?.[components];
}
