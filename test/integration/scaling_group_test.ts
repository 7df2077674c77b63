/** Scaling groups are rolled on a real API server, a real Temporal, and a cloud that is played over HTTP. */
import assert from "node:assert/strict";
import { hashOf } from "../../activities/backends/scaling_group/target.ts";
import { first, GroupGround, kinds, type Version } from "./group_world.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const group = {
  ...{ id: "projects/p/groups/workers", name: "workers", autoscalerName: "workers", role: "Worker" as const },
  ...{ min: 1, max: 6, size: 3, zones: ["a", "b", "c"] },
  template: { image: first.image, machineType: "m" },
};

interface Node {
  metadata: { name: string; annotations?: Record<string, string> };
  spec: { providerID?: string };
}

Deno.test("a scaling group is rolled to another image", async () => {
  await using ground = new GroupGround();
  await withWorld({ settings: ground.settings }, async (world) => {
    await ground.settle(world, [group]);
    await world.until("its nodes", async () => (await runsOf(world)).length === 3);
    await converged(world, first);
    const next = { image: "image-2", components: "components-2" };
    await ground.ask(world, next);
    await converged(world, next);
    assert.deepEqual(await runsOf(world), Array.from({ length: 3 }, () => "image-2 components-2"));
    assert.equal(ground.cloud.group(group.id)?.size, 3);
    await world.until("no record to be left", async () => (await world.list(`${kinds}/pendingnodes`)).length === 0);
  });
});

async function converged(world: World, version: Version): Promise<void> {
  const path = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/scaling-group.workers";
  await world.until(`the group to run ${version.image}`, async () => {
    const rollout = await world.get<{ status?: { phase?: string; targetTemplateHash?: string; message?: string } }>(
      path,
    );
    return rollout?.status?.phase === "Converged" && rollout.status.targetTemplateHash === hashOf(version);
  });
}

async function runsOf(world: World): Promise<string[]> {
  const prefix = "constellation.edgeless.systems";
  const nodes = await world.list<Node>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata: { annotations = {} } }) =>
    `${annotations[`${prefix}/node-image`] ?? ""} ${annotations[`${prefix}/kubernetes-components`] ?? ""}`.trim()
  );
}
