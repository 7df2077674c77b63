/** Ostler's worker dies at random moments of a rollout, repeatedly; the outcome is always the same. */
import assert from "node:assert/strict";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { machineDeployment, poolPath, poolsPath, rollTo } from "../integration/pool_objects.ts";
import { withWorld } from "../integration/world.ts";
import type { World } from "../integration/world.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 1);
const points = Number(process.env["CHAOS_POINTS"] ?? 20);
const killsPerRollout = 5;

Deno.test(`rollOutMachineDeployment: has the same outcome when the worker process is killed at ${points} random moments (seed ${seed})`, async () => {
  await withWorld({ seed }, async (world) => {
    const random = sequence(seed);
    await world.create(poolsPath(), machineDeployment({ replicas: 3 }));
    await world.untilPhase("pool", "Converged");
    for (let killed = 0, round = 1; killed < points; killed += killsPerRollout, round++) {
      await rollUnderFire(world, `docker://images.example/ubuntu:round-${round}`, random);
    }
  });
});

async function rollUnderFire(world: World, image: string, random: () => number): Promise<void> {
  await world.observed(3, async () => {
    await world.patch(poolPath("pool"), rollTo("1.36.1", image));
    for (let kill = 0; kill < killsPerRollout; kill++) {
      await setTimeout(500 + random() * 6500); // a random moment is the point of this test
      world.site.ostler.worker.kill("SIGKILL");
      await world.site.ostler.worker.restart();
    }
    const status = await world.untilPhase("pool", "Converged");
    assert.equal(status.updated, "3/3");
  });
  assert.deepEqual(await bootedImages(world), [image, image, image]);
}

async function bootedImages(world: World): Promise<string[]> {
  // machine-controller deletes the nodes of deleted machines.
  const nodes = await world.until("three nodes", async () => {
    const found = await world.list<{ status: { nodeInfo: { osImage: string } } }>("/api/v1/nodes");
    return found.length === 3 && found;
  });
  return nodes.map((node) => node.status.nodeInfo.osImage);
}

// Returns a generator of pseudo-random numbers (Mulberry32), which are the same on every machine for the same start.
function sequence(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
