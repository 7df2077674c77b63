import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { awaitControlPlaneHealthy } from "../../../../activities/kubernetes/healthy.ts";
import { refused } from "../../../../activities/failures.ts";
import type { Unseen } from "../../../../workflows/contracts/mod.ts";
import { type ActivityRun, inActivity } from "../../../support/activity_context.ts";
import { answer } from "../../../support/fake_kube.ts";
import { current, desired, UpgradeStage } from "../../../support/upgrade_stage.ts";

const node = "workers-1";

interface Asked {
  kubelet?: boolean;
  uid?: string;
  until?: number;
}

function wait(
  stage: UpgradeStage,
  { kubelet = true, uid = `uid-of-${node}`, until = Date.now() }: Asked = {},
  run: ActivityRun = {},
): Promise<{ isHealthy: boolean; evidence: string } | Unseen> {
  const question = { object: stage.object, node, uid, version: desired, kubelet, until };
  return inActivity(() => awaitControlPlaneHealthy(stage.client, question), run);
}

async function evidence(stage: UpgradeStage, asked: Asked = {}): Promise<[boolean, string]> {
  const seen = await wait(stage, asked);
  ok("isHealthy" in seen);
  return [seen.isHealthy, seen.evidence];
}

function upgraded(): UpgradeStage {
  const stage = new UpgradeStage();
  stage.runs(node, desired);
  return stage;
}

Deno.test("K23 awaitControlPlaneHealthy: succeeds when all components of the control plane run the version, and the node and etcd are healthy", async () => {
  const stage = upgraded();
  const [isHealthy, says] = await evidence(stage);
  equal(isHealthy, true);
  equal(
    says,
    `API server, controller manager, scheduler and kubelet of node "workers-1" run "${desired}"; the node is Ready, and etcd reports no problem with it`,
  );
  deepEqual(stage.kube.writes, []);
});

Deno.test("K23 awaitControlPlaneHealthy: requires the new version of the kubelet only on request", async () => {
  const stage = upgraded();
  stage.kubelet(node, current);
  deepEqual(await evidence(stage), [false, "the kubelet reports v1.35.3"]);
  equal((await evidence(stage, { kubelet: false }))[0], true);
});

type Fault = [what: string, text: string, change: (stage: UpgradeStage) => void];

const faults: Fault[] = [
  [
    "a component of the earlier version",
    "API server runs v1.35.3",
    (stage) => stage.part(node, "kube-apiserver", current),
  ],
  [
    "a component of a later version",
    "scheduler runs v1.36.2",
    (stage) => stage.part(node, "kube-scheduler", "v1.36.2"),
  ],
  [
    "a missing component",
    "scheduler runs an unknown version",
    (stage) => stage.kube.remove("pods", `kube-scheduler-${node}`, "kube-system"),
  ],
  [
    "a component that is not Ready",
    "controller manager is not Ready",
    (stage) => stage.part(node, "kube-controller-manager", desired, { isReady: false }),
  ],
  ["a node that is not Ready", 'node "workers-1" is not Ready (KubeletNotReady)', (stage) => {
    const conditions = [{ type: "Ready", status: "False", reason: "KubeletNotReady" }];
    Object.assign(stage.kube.get("nodes", node)?.["status"] ?? {}, { conditions });
  }],
  [
    "an etcd member that does not respond",
    'member "workers-1" does not respond: timeout',
    (stage) => stage.etcd.silent("m-workers-1"),
  ],
  ["that etcd does not answer", "etcd does not answer", (stage) => {
    stage.etcd.silence = "etcd does not answer";
  }],
];

for (const [what, text, change] of faults) {
  Deno.test(`K27 awaitControlPlaneHealthy: reports ${what} at the deadline`, async () => {
    const stage = upgraded();
    change(stage);
    deepEqual(await evidence(stage), [false, text]);
  });
}

Deno.test("K27 awaitControlPlaneHealthy: succeeds when only the etcd member of another control plane is unhealthy", async () => {
  const stage = upgraded();
  stage.etcd.silent("m-workers-2");
  equal((await evidence(stage))[0], true);
});

Deno.test("awaitControlPlaneHealthy: succeeds without a check of etcd when Ostler has no access to etcd", async () => {
  const stage = upgraded();
  stage.etcd.fault = refused("EtcdAccessMissing", "Failed to reach etcd: the Secret does not exist");
  equal((await evidence(stage))[0], true);
});

Deno.test("awaitControlPlaneHealthy: fails as MachineGone when the node was deleted, or another node has its name", async () => {
  const moot = { type: "MachineGone", nonRetryable: true };
  const stage = upgraded();
  await rejects(wait(stage, { uid: "other" }), moot);
  stage.kube.remove("nodes", node);
  await rejects(wait(stage), moot);
});

Deno.test("awaitControlPlaneHealthy: at its deadline, returns the duration of an API outage instead of an unhealthy verdict", async () => {
  const stage = upgraded();
  stage.kubelet(node, current);
  let isAway = true;
  stage.kube.onRequest = () => {
    if (!isAway) return;
    isAway = false;
    throw answer(503, "ServiceUnavailable");
  };
  const lookedAt = Date.now() - 600_000;
  const seen = await wait(stage, {}, { attempt: 2, heartbeatDetails: { lookedAt, waitsFor: "" } });
  ok("unseenMs" in seen && seen.unseenMs >= 600_000, JSON.stringify(seen));
  match(
    JSON.stringify(await wait(upgraded(), {}, { heartbeatDetails: { lookedAt, waitsFor: "" } })),
    /"isHealthy":true/,
  );
});
