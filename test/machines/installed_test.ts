/** Ostler is installed by its chart on real machines that it made itself, and looks after them from there. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { poolPath, poolsPath, rollTo } from "../integration/pool_objects.ts";
import type { World } from "../integration/world.ts";
import { homeLabels, Installation, repository } from "./installation.ts";
import { withOstlerLayout } from "./ostler_layout.ts";
import { machineTest, realPool, withMachines } from "./real_machines.ts";

const home = "home";
/** So long may two machines take that boot one after the other. */
const bootSeconds = 420;
const versions = ["1.0.0", "1.0.1"] as const;
const debian = (build: string): string => `docker://images.example/debian:12-${build}`;

interface Scene {
  world: World;
  host: ContainerHost;
  ostler: Installation;
}

const story: [name: string, step: (scene: Scene) => Promise<void>][] = [
  ["pods take over from processes beside the control plane", takesOver],
  ["a pool is rolled while the leader goes, Temporal is cut off and a new version comes", rollsAPool],
  ["the pool that it lives on is rolled by it", rollsItsHome],
];

machineTest("Ostler lives in pods on machines of its own, and every promise is kept", async (t) => {
  await withOstlerLayout(async (folder) => {
    await withMachines({ layouts: [{ folder, repository, tags: versions }] }, async (world, host) => {
      host.serveApi(world.site.stack.apiServer.port);
      await using ostler = await Installation.prepare(world, host);
      for (const [name, step] of story) {
        const isDone = await t.step(name, () => step({ world, host, ostler }));
        assert.ok(isDone, `The others need what this one leaves: ${name}`);
      }
    });
  });
});

async function takesOver({ world, host, ostler }: Scene): Promise<void> {
  await world.create(poolsPath(), homePool(host));
  await world.untilPhase(home, "Converged", { seconds: bootSeconds });
  for (const part of [world.site.ostler.controller, world.site.ostler.worker]) await part.stop();
  await ostler.helmTo("install", versions[0]);
  assert.equal((await ostler.homes()).length, 2, "pods of one kind are on different machines");
  await world.create(poolsPath(), realPool(host, { replicas: 2, kubelet: "1.35.3", surge: 1 }));
  await world.untilPhase("pool", "Converged", { seconds: bootSeconds });
}

async function rollsAPool({ world, ostler }: Scene): Promise<void> {
  await world.observed({ replicas: 2, surge: 1 }, async () => {
    await world.patch(poolPath("pool"), rollTo("1.36.1", debian("a")));
    await ostler.changeLeader();
    ostler.temporal.cut(true);
    await pause(30_000);
    ostler.temporal.cut(false);
    await ostler.helmTo("upgrade", versions[1]);
    await world.untilPhase("pool", "Converged", { seconds: bootSeconds });
  });
  assert.ok(await ostler.isWhole());
}

async function rollsItsHome({ world, ostler }: Scene): Promise<void> {
  const before = await ostler.homes();
  await world.observed({ pool: home, replicas: 2, surge: 1 }, async () => {
    await world.patch(poolPath(home), rollTo("1.36.1", debian("b")));
    await world.untilPhase(home, "Converged", { seconds: bootSeconds });
  });
  await world.until("all pods to be Ready on new machines", async () => {
    const now = await ostler.homes();
    return await ostler.isWhole() && now.every((node) => !before.includes(node));
  });
}

/** Two machines whose nodes say that Ostler may live there. */
function homePool(host: ContainerHost): object {
  const pool = realPool(host, { name: home, replicas: 2, kubelet: "1.35.3", surge: 1 }) as {
    spec: { template: { spec: object } };
  };
  Object.assign(pool.spec.template.spec, { metadata: { labels: homeLabels } });
  return pool;
}
