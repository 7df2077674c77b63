/** A NodePool over a machine that really boots: hands are pods on its kubelet, and what they deploy is what boots next. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Build, remoteRepository } from "../../deploy/local/machines/ostree/ostree_image.ts";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import { NotYet } from "../../deploy/local/process/wait_until.ts";
import { handsImage } from "../../deploy/local/machines/ostree/hands_image.ts";
import { poolsPath } from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { machineTest, mayInstall, openHost, realPool } from "../machines/real_machines.ts";

const group = "/apis/ostler.dev/v1alpha1/namespaces/kube-system";
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

interface Standing {
  phase?: string;
  reason?: string;
  message?: string;
  image?: string;
}

machineTest("a NodePool boots another commit on a real machine, is halted by a bad one, and goes on", async (t) => {
  await withOstreeNode(async (world, host) => {
    const first = await untilReady(world);
    const site = await commitsOf(host, first.metadata.name);
    const named = { metadata: { namespace: "kube-system", name: "edge", labels: { kind: "edge" } } };
    await world.create(`${group}/rolloutpolicies`, {
      ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", ...named },
      spec: { selector: { matchLabels: { kind: "edge" } }, inPlace: { boot: "2m", soak: "1s" } },
    });
    await world.create(`${group}/nodepools`, {
      ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool", ...named },
      spec: { nodeSelector: { matchLabels: labels }, driver: "ostree", image: { reference: site("b") } },
    });
    const steps: [string, () => Promise<void>][] = [
      ["the node boots commit B, and is in service again", async () => {
        await stands(world, "Converged", site("b"));
        await isOn(world, "Debian GNU/Linux 12, b", first);
      }],
      ["it boots C, whose health check fails, and comes back with B: the pool is halted", async () => {
        const before = await theNode(world);
        await ask(world, site("c"));
        const { reason, message } = await stands(world, "Halted", site("c"));
        assert.match(`${reason} ${message}`, /UpdateRolledBack|Quarantined/);
        await isOn(world, "Debian GNU/Linux 12, b", before);
        assert.ok(await wasTried(host, before, site("c")), "C was never booted");
      }],
      ["it takes A after that", async () => {
        const before = await theNode(world);
        await ask(world, site("a"));
        await stands(world, "Converged", site("a"));
        await isOn(world, first.status.nodeInfo.osImage, before);
      }],
    ];
    for (const [name, step] of steps) assert.ok(await t.step(name, step), `The others need what this one leaves`);
    // Kubelets end what was told to go.
    await world.until("no hand to be left", async () => {
      return (await world.list("/api/v1/namespaces/ostler-hands/pods")).length === 0;
    }, 60);
  });
});

/** A site with one machine that boots what ostree deploys, and hands that its kubelet can run. */
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

/** The references of the remote's commits. */
async function commitsOf(host: ContainerHost, name: string): Promise<(build: Build) => string> {
  const machine = await host.machine(name);
  const script = 'for build in a b c; do ostree --repo="$1" rev-parse "os/$build" || exit; done';
  const { exitCode, stdout, stderr } = await machine.run(["sh", "-c", script, "commits", remoteRepository]);
  assert.equal(exitCode, 0, stderr);
  const [a = "", b = "", c = ""] = stdout.trim().split("\n");
  return (build) => `site@sha256:${{ a, b, c }[build]}`;
}

/** Whether its boot loader has ever booted that commit. */
async function wasTried(host: ContainerHost, { metadata }: Node, reference: string): Promise<boolean> {
  const machine = await host.machine(metadata.name);
  const commit = reference.split(":")[1] ?? "";
  return (await machine.run(["test", "-e", `/sysroot/boots/tried-${commit}.0`])).exitCode === 0;
}

async function ask(world: World, reference: string): Promise<void> {
  await world.patch(`${group}/nodepools/edge`, { spec: { image: { reference } } });
}

async function stands(world: World, phase: string, image: string): Promise<Standing> {
  return await world.until(`${phase} with ${image}`, async () => {
    const status = (await world.get<{ status?: Standing }>(`${group}/rollouts/node-pool.edge`))?.status;
    if (status?.phase === phase && status.image === image) return status;
    throw new NotYet({ status, node: (await theNode(world)).status.nodeInfo });
  }, 120);
}

async function theNode(world: World): Promise<Node> {
  const [node] = await world.list<Node>("/api/v1/nodes");
  assert.ok(node, "there is no node");
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

/** In service with that system, by another boot than before. */
async function isOn(world: World, osImage: string, before: Node): Promise<void> {
  const node = await theNode(world);
  assert.deepEqual([node.status.nodeInfo.osImage, isReady(node), node.spec.unschedulable], [osImage, true, undefined]);
  assert.notEqual(node.status.nodeInfo.bootID, before.status.nodeInfo.bootID);
  assert.equal(node.metadata.name, before.metadata.name);
}
