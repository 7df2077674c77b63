/** A pool of real machines is replaced again and again under the eyes of visitors, while this and that goes wrong. */
import assert from "node:assert/strict";
import { withGuests } from "../machines/guest_world.ts";
import { noRoutesBecause } from "../machines/pod_routes.ts";
import { machineTest } from "../machines/real_machines.ts";
import { rollsBack, rollsKubelet, rollsWithoutNetwork, rollsWithoutWorker } from "../machines/rolling_stories.ts";
import type { Scene } from "../machines/rollouts.ts";

const stories: [name: string, story: (scene: Scene) => Promise<void>][] = [
  ["kubelet 1.35.3 gives way to 1.36.1, machine by machine", rollsKubelet],
  ["a new image comes while the worker is killed twice", rollsWithoutWorker],
  ["a new image comes while a machine is cut off, which is waited for and not replaced", rollsWithoutNetwork],
  ["a profile whose kubelet never starts is rolled back", rollsBack],
];

machineTest("rollOutMachineDeployment replaces real machines under load, and no request fails", async (t) => {
  await withGuests(async (scene) => {
    for (const [name, story] of stories) {
      assert.ok(await t.step(name, () => story(scene)), `The others need what this one leaves: ${name}`);
    }
  });
}, await noRoutesBecause());
