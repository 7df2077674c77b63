import { deepEqual, rejects } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/release.ts";
import { GroupStage, next, pool, version } from "../../../../support/group_stage.ts";

/** Booted what is wanted of it once; then its NodeVersion asks for something else. */
async function controlPlane(stage: string): Promise<GroupStage> {
  const group = new GroupStage({ role: "ControlPlane" });
  group.ask(version, { stage: "ControlPlane", digest: hashOf(version) });
  await group.backend.boots?.publish({ pool, revision: "" });
  group.ask(next, { stage, digest: hashOf(next) });
  return group;
}

Deno.test("K23 what is released to workers reaches no control plane", async () => {
  const { templateHash, members } = await (await controlPlane("Workers")).backend.observe(pool);
  deepEqual([templateHash, members.filter(({ phase }) => phase === "Held")], [hashOf(version), []]);
  const released = await (await controlPlane("ControlPlane")).backend.observe(pool);
  deepEqual(released.templateHash, hashOf(next));
});

Deno.test("K27 a group whose role was written wrong is one of control planes where its cloud or its nodes say so", async () => {
  const refusal = { type: "ControlPlaneRefused" };
  const byCloud = new GroupStage({ role: "ControlPlane" });
  const byNode = new GroupStage();
  for (const group of [byCloud, byNode]) {
    const [object] = group.kube.all("scalinggroups") as unknown as { spec: { role: string } }[];
    if (object) object.spec.role = "Worker";
    group.ask(next, { stage: "Workers", digest: hashOf(next) });
  }
  const [node] = byNode.kube.all("nodes") as unknown as { metadata: { labels?: Record<string, string> } }[];
  if (node) node.metadata.labels = { "node-role.kubernetes.io/control-plane": "" };
  for (const { backend } of [byCloud, byNode]) {
    await rejects(backend.choose({ pool, machine: "workers-1" }), refusal);
    await rejects(backend.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), refusal);
    await rejects(backend.release({ pool, machine: "workers-1" }), refusal);
  }
});

Deno.test("K27 no machine of a control plane is chosen, ordered or removed, whoever wants that", async () => {
  const group = await controlPlane("ControlPlane");
  const refusal = { type: "ControlPlaneRefused", nonRetryable: true };
  await rejects(group.backend.choose({ pool, machine: "workers-1" }), refusal);
  await rejects(group.backend.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), refusal);
  await rejects(group.backend.release({ pool, machine: "workers-1" }), refusal);
  await rejects(group.backend.replace({ pool, machine: "workers-1" }), refusal);
  deepEqual([group.cloud.instances().length, group.cloud.instances().every(({ state }) => state === "Ready")], [
    3,
    true,
  ]);
});
