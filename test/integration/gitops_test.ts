/** A tool that applies a bad spec every second, even during the rollback: no machine is replaced back and forth. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { machineDeployment, policiesPath, poolPath, poolsPath, rolloutPolicy, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const bad = "docker://images.example/ubuntu:bad";
/**
 * Maximum number of times that a rollout reverts the same bad spec; after that the machines of the bad spec are only
 * held.
 */
const takenBackAtMost = 30;
const labels = { tool: "gitops" };

const faults = [{ kind: "not-ready" as const, when: ({ image }: { image: string }) => image === bad }];
const title =
  "rollOutMachineDeployment: replaces no machine back and forth while a tool applies a bad spec every second";

testInWorld(title, { script: { faults } }, async (world) => {
  await world.create(poolsPath(), machineDeployment({ replicas: 2, labels }));
  await world.untilPhase("pool", "Converged");
  // The short deadlines apply only to the next rollout: on a busy computer the good machines of the first one may take
  // longer.
  const [instance, address, registered, ready] = Array(4).fill("20s");
  const join = { instance, address, registered, ready, attempts: 0 };
  await world.create(policiesPath(), rolloutPolicy("gitops", { onFailure: "Rollback", join }, labels));
  const { lives } = await world.observed(2, () => insist(world));
  const ordered = lives.filter(({ orderedAt }) => orderedAt !== undefined);
  assert.equal(ordered.length, 3, "Expected one machine with the bad image, and nothing else");
  assert.deepEqual(ordered.filter(({ readyAt }) => readyAt !== undefined).map(({ goneAt }) => goneAt), [
    undefined,
    undefined,
  ]);
  const papers = lives.length - ordered.length;
  assert.ok(
    papers <= takenBackAtMost + 1,
    `${papers} Machine objects were pending; expected at most ${takenBackAtMost + 1}`,
  );
});

// Applies the bad spec at the pace of a GitOps tool, which never waits for the effect.
async function insist(world: World): Promise<void> {
  const held = new AbortController();
  const tool = applyUntil(world, held.signal);
  await world.until("the bad image to be held", async () => {
    const status = await world.status("pool");
    return status?.reason === "Quarantined" && status.image === bad;
  }, 150);
  held.abort();
  await tool;
}

async function applyUntil(world: World, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await world.patch(poolPath("pool"), rollTo("1.36.1", bad));
    await setTimeout(1_000, undefined, { signal }).catch(() => {});
  }
}
