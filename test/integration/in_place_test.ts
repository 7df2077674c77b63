/** NodePools on a real API server and a real Temporal; only the nodes' kubelets, and with them the hands, are played. */
import assert from "node:assert/strict";
import { ImageGround } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { NotYet } from "../../deploy/local/process/wait_until.ts";
import { eventually } from "../support/eventually.ts";
import { inSharedWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const group = "/apis/ostler.dev/v1alpha1/namespaces/kube-system";
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const imageOf = (letter: string): string => `registry.example/os/edge@${digestOf(letter)}`;

interface Standing {
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    replicas?: number;
    image?: string;
    failedMachines?: number;
  };
}

async function ask(world: World, letter: string): Promise<void> {
  await world.patch(`${group}/nodepools/edge`, { spec: { image: { reference: imageOf(letter) } } });
}

/** Waits until the Rollout says so of that image. */
async function stands(world: World, phase: string, letter: string): Promise<NonNullable<Standing["status"]>> {
  return await eventually(`${phase} with ${letter}`, async () => {
    const status = (await world.get<Standing>(`${group}/rollouts/node-pool.edge`))?.status;
    if (status?.phase === phase && status.image === imageOf(letter)) return status;
    throw new NotYet(status);
  }, { withinMs: 180_000 });
}

async function cordonedIn(world: World): Promise<string[]> {
  const nodes = await world.list<{ metadata: { name: string }; spec: { unschedulable?: boolean } }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
}

Deno.test({
  name: "A2 A4 A5 twelve nodes take an image where they stand; a bad one stops at two, and another is taken by all",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using ground = new ImageGround({ nodes: 12, labels: { pool: "edge" }, booted: digestOf("a"), bootMs: 300 });
    await inSharedWorld({ settings: ground.settings }, async (world) => {
      await ground.settle(world.site.stack.adminKubeconfig);
      const named = { metadata: { namespace: "kube-system", name: "edge", labels: { kind: "edge" } } };
      await world.create(`${group}/rolloutpolicies`, {
        ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", ...named },
        spec: { selector: { matchLabels: { kind: "edge" } }, budget: { machines: 3 }, maxFailed: 2 },
      });
      await world.create(`${group}/nodepools`, {
        ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool", ...named },
        spec: {
          ...{ nodeSelector: { matchLabels: { pool: "edge" } }, driver: "bootc" },
          image: { reference: imageOf("a") },
        },
      });
      await stands(world, "Converged", "a");
      assert.equal(ground.mostDown, 0);

      const bootedNow = (): string =>
        [...ground.nodes.values()].map(({ state }) => state.booted.slice(7, 8)).sort().join("");
      await ask(world, "b");
      await stands(world, "Converged", "b");
      assert.deepEqual([bootedNow(), await cordonedIn(world)], ["b".repeat(12), []]);
      assert.ok(ground.mostDown <= 3, `${ground.mostDown} were down at once`);
      assert.deepEqual([...ground.nodes.values()].map(({ boots }) => boots), Array(12).fill(1));

      ground.fate = () => "rolls back";
      await ask(world, "c");
      const { reason, message } = await stands(world, "Halted", "c");
      assert.match(`${reason} ${message}`, /UpdateRolledBack|Quarantined/);
      // What is under way when it halts is ended, and its nodes are uncordoned.
      await eventually("nothing cordoned", async () => (await cordonedIn(world)).length === 0, { withinMs: 30_000 });
      const tried = [...ground.nodes.values()].filter(({ boots }) => boots > 1).length;
      assert.ok(tried >= 2 && tried <= 4, `${tried} were tried`);
      assert.deepEqual([bootedNow(), await cordonedIn(world)], ["b".repeat(12), []]);

      ground.fate = () => "boots";
      await ask(world, "a");
      await stands(world, "Converged", "a");
      assert.deepEqual([bootedNow(), await cordonedIn(world)], ["a".repeat(12), []]);
      assert.deepEqual(await world.list("/api/v1/namespaces/ostler-hands/pods"), []);
    });
  },
});
