/**
 * NodePools on a real API server and a real Temporal. Only the nodes' kubelets and the hands (pods that execute orders
 * on nodes) are simulated.
 */
import assert from "node:assert/strict";
import { ImageGround } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { digestOf, imageOf } from "../../deploy/local/demo/images_ground.ts";
import { ask, cordoned, createEdge, restsHalted, stands } from "../../deploy/local/demo/stories/in_place/edge_pool.ts";
import { inSharedWorld } from "./shared_world.ts";

Deno.test({
  name:
    "A2 A4 A5 update in place: twelve nodes boot a second image; the rollout of a bad third image halts after at most four nodes; a request for the first image makes all nodes boot it again",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using ground = new ImageGround({ nodes: 12, labels: { pool: "edge" }, booted: digestOf("a"), bootMs: 300 });
    await inSharedWorld({ settings: ground.settings }, async (world) => {
      await ground.settle(world.site.stack.adminKubeconfig);
      const edge = { cluster: world };
      await createEdge(edge, {
        ...{ labels: { pool: "edge" }, driver: "bootc", reference: imageOf("a") },
        policy: { budget: { machines: 3 }, maxFailed: 2 },
      });
      await stands(edge, "Converged", imageOf("a"));
      assert.equal(ground.mostDown, 0);

      const bootedNow = (): string =>
        [...ground.nodes.values()].map(({ state }) => state.booted.slice(7, 8)).sort().join("");
      await ask(edge, imageOf("b"));
      await stands(edge, "Converged", imageOf("b"));
      assert.deepEqual([bootedNow(), await cordoned(edge)], ["b".repeat(12), []]);
      assert.ok(ground.mostDown <= 3, `Expected at most three nodes down, and saw ${ground.mostDown}`);
      assert.deepEqual([...ground.nodes.values()].map(({ boots }) => boots), Array(12).fill(1));

      ground.fate = () => "rolls back";
      await ask(edge, imageOf("c"));
      const { reason, message } = await stands(edge, "Halted", imageOf("c"));
      assert.match(`${reason} ${message}`, /UpdateRolledBack|Quarantined/);
      await restsHalted(edge);
      const tried = [...ground.nodes.values()].filter(({ boots }) => boots > 1).length;
      assert.ok(tried >= 2 && tried <= 4, `${tried} were tried`);
      assert.deepEqual([bootedNow(), await cordoned(edge)], ["b".repeat(12), []]);

      ground.fate = () => "boots";
      await ask(edge, imageOf("a"));
      await stands(edge, "Converged", imageOf("a"));
      assert.deepEqual([bootedNow(), await cordoned(edge)], ["a".repeat(12), []]);
      assert.deepEqual(await world.list("/api/v1/namespaces/ostler-hands/pods"), []);
    });
  },
});
