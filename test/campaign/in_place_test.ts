/**
 * A NodePool with one machine that really boots: Ostler's hands are pods on its kubelet, and the machine then boots the
 * OSTree deployment that they write.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import { ask, createEdge, stands } from "../../deploy/local/demo/stories/in_place/edge_pool.ts";
import { commitsOf, wasTried } from "../../deploy/local/demo/stories/in_place/ostree_nodes.ts";
import { handsImage } from "../../deploy/local/machines/ostree/hands_image.ts";
import { poolsPath } from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { machineTest, mayInstall, openHost, realPool } from "../machines/real_machines.ts";

const ostreeDebian = "docker://images.example/debian:12-ostree";
const labels = { "machines.example/pool": "edge" };

interface Node {
  metadata: { name: string; labels: Record<string, string> };
  spec: { unschedulable?: boolean };
  status: {
    nodeInfo: { bootID: string; osImage: string };
    conditions: { type: string; status: string }[];
  };
}

machineTest("NodePool: boots another commit on a real machine, is halted by a bad commit, and continues", async (t) => {
  await withOstreeNode(async (world, host) => {
    const first = await untilReady(world);
    const { a, b, c } = await commitsOf(host, first.metadata.name);
    const edge = { cluster: world };
    const policy = { inPlace: { boot: "2m", soak: "1s" } };
    await createEdge(edge, { labels, driver: "ostree", reference: b, policy });
    const steps: [string, () => Promise<void>][] = [
      ["the node boots OSTree commit B when the NodePool requests it, and the pool converges", async () => {
        await stands(edge, "Converged", b);
        await isOn(world, "Debian GNU/Linux 12, b", first);
      }],
      ["the node rolls back to commit B when the health check of commit C fails, and the pool is halted", async () => {
        const before = await theNode(world);
        await ask(edge, c);
        const { reason, message } = await stands(edge, "Halted", c);
        assert.match(`${reason} ${message}`, /UpdateRolledBack|Quarantined/);
        await isOn(world, "Debian GNU/Linux 12, b", before);
        assert.ok(await wasTried(host, before.metadata.name, c), "Expected C to be booted");
      }],
      ["the node boots commit A when the halted NodePool requests it", async () => {
        const before = await theNode(world);
        await ask(edge, a);
        await stands(edge, "Converged", a);
        await isOn(world, first.status.nodeInfo.osImage, before);
      }],
    ];
    for (const [name, step] of steps) {
      assert.ok(await t.step(name, step), `Failed to continue after this step: ${name}`);
    }
    // Waits until all pods of hands are deleted, because only a running kubelet can end a terminating pod.
    await world.until("no hand to be left", async () => {
      return (await world.list("/api/v1/namespaces/ostler-hands/pods")).length === 0;
    }, 60);
  });
});

/** Runs a story with one machine that boots OSTree deployments, and with an image of hands that its kubelet can run. */
async function withOstreeNode(story: (world: World, host: ContainerHost) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-hands-"));
  try {
    const workFolder = machinesFolder();
    const engine = { install: mayInstall, directory: join(workFolder, "docker") };
    const { layout, reference } = await handsImage({ folder, workFolder, engine });
    const host = await openHost(() => {}, [layout]);
    try {
      await host.addOstree(ostreeDebian);
      const settings = { OSTLER_HANDS_IMAGE: `${new URL(host.mirror.url).host}/${reference}` };
      await withWorld({ machines: host, settings }, async (world) => {
        await world.create(poolsPath(), labelledPool(host));
        await story(world, host);
      });
    } finally {
      await host.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function labelledPool(host: ContainerHost): object {
  const pool = realPool(host, { name: "edge", image: ostreeDebian }) as { spec: { template: { spec: object } } };
  const { template } = pool.spec;
  const spec = { ...template.spec, metadata: { labels } };
  return { ...pool, spec: { ...pool.spec, template: { ...template, spec } } };
}

async function theNode(world: World): Promise<Node> {
  const [node] = await world.list<Node>("/api/v1/nodes");
  assert.ok(node, "the node is missing");
  return node;
}

async function untilReady(world: World): Promise<Node> {
  return await world.until("the machine to be a node", async () => {
    const [node] = await world.list<Node>("/api/v1/nodes");
    return node && isReady(node) && node.metadata.labels["machines.example/pool"] === "edge" && node;
  }, 120);
}

function isReady({ status }: Node): boolean {
  return status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** Expects the node to be in service with that operating system, and to have booted again since `before`. */
async function isOn(world: World, osImage: string, before: Node): Promise<void> {
  const node = await theNode(world);
  assert.deepEqual([node.status.nodeInfo.osImage, isReady(node), node.spec.unschedulable], [osImage, true, undefined]);
  assert.notEqual(node.status.nodeInfo.bootID, before.status.nodeInfo.bootID);
  assert.equal(node.metadata.name, before.metadata.name);
}
