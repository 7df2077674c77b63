/**
 * A7 on a real API server and a real Temporal: Ostler's worker is killed with SIGKILL at each step of updates in place.
 */
import assert from "node:assert/strict";
import { ImageGround } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { digestOf, imageOf } from "../../deploy/local/demo/images_ground.ts";
import { ask, createEdge, stands } from "../../deploy/local/demo/stories/in_place/edge_pool.ts";
import { eventually } from "../support/eventually.ts";
import { inSharedWorld } from "../integration/shared_world.ts";
import type { World } from "../integration/world.ts";

/** Steps that are visible from outside, in order. */
const steps = ["Check", "Stage", "cordoned", "Apply", "down", "back", "Status", "uncordoned"] as const;
type Step = typeof steps[number];

/** Adds to `orders` the steps that are visible on the nodes, such as "cordoned", and returns `orders`. */
async function seenOf(world: World, ground: ImageGround, orders: Set<string>): Promise<Set<string>> {
  const nodes = await world.list<{ spec: { unschedulable?: boolean } }>("/api/v1/nodes");
  const all = [...ground.nodes.values()];
  if (nodes.some(({ spec }) => spec.unschedulable)) orders.add("cordoned");
  if (all.some(({ isDown }) => isDown)) orders.add("down");
  if (orders.has("down") && all.some(({ state, isDown }) => !isDown && state.booted === digestOf("b"))) {
    orders.add("back");
  }
  if (orders.has("Status") && nodes.every(({ spec }) => !spec.unschedulable)) orders.add("uncordoned");
  return orders;
}

Deno.test({
  name:
    "A7 update in place: while the worker process is killed at each step, nodes boot one at a time, each once, and no node stays cordoned",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using ground = new ImageGround({ nodes: 3, labels: { pool: "edge" }, booted: digestOf("a"), bootMs: 4_000 });
    await inSharedWorld({ settings: ground.settings }, async (world) => {
      await ground.settle(world.site.stack.adminKubeconfig);
      const edge = { cluster: world };
      await createEdge(edge, { labels: { pool: "edge" }, driver: "bootc", reference: imageOf("a") });
      await stands(edge, "Converged", imageOf("a"));
      const seen = new Set<string>();
      ground.onOrder = (verb) => void seen.add(verb);
      await ask(edge, imageOf("b"));
      for (const step of steps) await killAt(world, { step, look: () => seenOf(world, ground, seen) });
      await stands(edge, "Converged", imageOf("b"));
      const all = [...ground.nodes.values()];
      assert.deepEqual(all.map(({ state, boots }) => [state.booted, boots]), all.map(() => [digestOf("b"), 1]));
      assert.equal(ground.mostDown, 1);
      assert.deepEqual([...await seenOf(world, ground, new Set())], []);
      // Pods of hands that a killed worker created are deleted only 15 minutes after their deadline, so they may exist,
      // but none may still run.
      const hands = await world.list<{ status: { phase: string } }>("/api/v1/namespaces/ostler-hands/pods");
      assert.deepEqual(hands.filter(({ status }) => status.phase !== "Succeeded"), []);
    });
  },
});

async function killAt(
  world: World,
  { step, look }: { step: Step; look: () => Promise<Set<string>> },
): Promise<void> {
  await eventually(`"${step}" to be seen`, async () => (await look()).has(step), { withinMs: 90_000 });
  const { worker } = world.site.ostler;
  worker.kill("SIGKILL");
  await worker.restart();
}
