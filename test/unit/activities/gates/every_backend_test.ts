/** Gates with `run: EachMachine`, for each kind of pool. */
import { equal, ok, rejects } from "node:assert/strict";
import { awaitGates } from "../../../../activities/gates/await_gates.ts";
import type { Cluster } from "../../../../activities/cluster.ts";
import type { GateVerdict, PoolKind, PoolRef } from "../../../../workflows/contracts/mod.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, type FakeKube } from "../../../support/fake_kube.ts";
import { GroupStage, pool as group, version } from "../../../support/group_stage.ts";
import { node, pool } from "../../../support/machine_objects.ts";
import { gate, kubeWithPool } from "./gate_question.ts";

interface Stage {
  kube: FakeKube;
  client: Cluster;
  pool: PoolRef;
  machine: string;
  node: string;
  /** Deletes the machine. */
  remove(): void;
}

const hasty = { machine: 1, wave: 1, metric: 1, grace: 0 };

function ofDeployment(ref: PoolRef): Stage {
  const kube = kubeWithPool();
  const remove = (): void => kube.remove("machines", "a", "fleet");
  return { kube, client: kube.client, pool: ref, machine: "a", node: "node-a", remove };
}

function ofGroup(): Stage {
  const stage = new GroupStage();
  stage.ask(version, { stage: "Workers", digest: hashOf(version) });
  const [instance] = stage.cloud.instances();
  ok(instance);
  const remove = (): void => {
    stage.cloud.remove(instance.providerId, true);
    stage.settle();
  };
  const { kube, client } = stage;
  return { kube, client, pool: group, machine: "workers-1", node: instance.node, remove };
}

function ofNodePool(): Stage {
  const kube = kubeWithPool();
  kube.put("nodes", node("edge-1"));
  const remove = (): void => kube.remove("nodes", "edge-1");
  const ref: PoolRef = { kind: "NodePool", namespace: "fleet", name: "node-pool.edge" };
  return { kube, client: kube.client, pool: ref, machine: "edge-1", node: "edge-1", remove };
}

const stages: Record<PoolKind | "pool without a kind", () => Stage> = {
  "pool without a kind": () => ofDeployment(pool),
  MachineDeployment: () => ofDeployment({ kind: "MachineDeployment", ...pool }),
  ScalingGroup: ofGroup,
  NodePool: ofNodePool,
};

async function ask({ client, pool, machine, node }: Stage): Promise<GateVerdict["outcome"] | undefined> {
  const gates = [gate({ kind: "NodeCondition", type: "Ready", status: "True" })];
  const question = { pool, gates, machine, node, key: "k", until: Date.now() + 10_000 };
  const verdicts = await inActivity(() => awaitGates(client, question, { patience: hasty }));
  ok(Array.isArray(verdicts));
  return verdicts[0]?.outcome;
}

for (const [kind, stageOf] of Object.entries(stages)) {
  Deno.test(`fault E1: a gate for each machine passes in a ${kind}`, async () => {
    equal(await ask(stageOf()), "Passed");
  });

  Deno.test(`fault E1: a gate for each machine is moot for a deleted machine of a ${kind}`, async () => {
    const stage = stageOf();
    stage.remove();
    await rejects(ask(stage), { type: "MachineGone" });
  });

  Deno.test(`fault E1: a machine of a ${kind} is not gone because it cannot be read`, async () => {
    const stage = stageOf();
    let isFirst = true;
    stage.kube.onRequest = () => {
      if (!isFirst) return;
      isFirst = false;
      throw answer(503, "ServiceUnavailable");
    };
    equal(await ask(stage), "Passed");
  });
}
