/** Gates with `run: EachMachine`, for each kind of pool. */
import { equal, ok, rejects } from "node:assert/strict";
import { awaitGates } from "../../../../activities/gates/await_gates.ts";
import type { Cluster } from "../../../../activities/cluster.ts";
import type { GateVerdict, PoolKind, PoolRef } from "../../../../workflows/contracts/mod.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, type FakeKube } from "../../../support/fake_kube.ts";
import { GroupInMemory, pool as groupPool, version } from "../../../support/group_in_memory.ts";
import { node, pool } from "../../../support/machine_objects.ts";
import { gate, kubeWithPool } from "./gate_question.ts";

interface Scene {
  kube: FakeKube;
  client: Cluster;
  pool: PoolRef;
  machine: string;
  node: string;
  /** Deletes the machine. */
  remove(): void;
}

const hasty = { machine: 1, wave: 1, metric: 1, grace: 0 };

function ofDeployment(ref: PoolRef): Scene {
  const kube = kubeWithPool();
  const remove = (): void => kube.remove("machines", "a", "fleet");
  return { kube, client: kube.client, pool: ref, machine: "a", node: "node-a", remove };
}

function ofGroup(): Scene {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  const [instance] = group.cloud.instances();
  ok(instance);
  const remove = (): void => {
    group.cloud.remove(instance.providerId, true);
    group.settle();
  };
  const { kube, client } = group;
  return { kube, client, pool: groupPool, machine: "workers-1", node: instance.node, remove };
}

function ofNodePool(): Scene {
  const kube = kubeWithPool();
  kube.put("nodes", node("edge-1"));
  const remove = (): void => kube.remove("nodes", "edge-1");
  const ref: PoolRef = { kind: "NodePool", namespace: "fleet", name: "node-pool.edge" };
  return { kube, client: kube.client, pool: ref, machine: "edge-1", node: "edge-1", remove };
}

const scenes: Record<PoolKind | "pool without a kind", () => Scene> = {
  "pool without a kind": () => ofDeployment(pool),
  MachineDeployment: () => ofDeployment({ kind: "MachineDeployment", ...pool }),
  ScalingGroup: ofGroup,
  NodePool: ofNodePool,
};

async function ask({ client, pool, machine, node }: Scene): Promise<GateVerdict["outcome"] | undefined> {
  const gates = [gate({ kind: "NodeCondition", type: "Ready", status: "True" })];
  const question = { pool, gates, machine, node, key: "k", until: Date.now() + 10_000 };
  const verdicts = await inActivity(() => awaitGates(client, question, { patience: hasty }));
  ok(Array.isArray(verdicts));
  return verdicts[0]?.outcome;
}

for (const [kind, sceneOf] of Object.entries(scenes)) {
  Deno.test(`fault E1: awaitGates passes an EachMachine gate for a machine of a ${kind}`, async () => {
    equal(await ask(sceneOf()), "Passed");
  });

  Deno.test(`fault E1: awaitGates fails as MachineGone when a machine of a ${kind} was deleted`, async () => {
    const scene = sceneOf();
    scene.remove();
    await rejects(ask(scene), { type: "MachineGone" });
  });

  Deno.test(`fault E1: awaitGates does not treat a machine of a ${kind} as deleted when one read of it fails`, async () => {
    const scene = sceneOf();
    let isFirst = true;
    scene.kube.onRequest = () => {
      if (!isFirst) return;
      isFirst = false;
      throw answer(503, "ServiceUnavailable");
    };
    equal(await ask(scene), "Passed");
  });
}
