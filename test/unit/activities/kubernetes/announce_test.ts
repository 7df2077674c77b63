import { deepEqual, equal, rejects } from "node:assert/strict";
import {
  ensureControlPlaneAnnounced,
  ensureControlPlaneUncordoned,
  ensureUpgradeEnded,
  ensureUpgradeReported,
} from "../../../../activities/kubernetes/announce.ts";
import { upgradeStateOf } from "../../../../activities/kubernetes/cancelled_upgrade.ts";
import { NodeVersion } from "../../../../activities/kube/update_kinds.ts";
import { awaitNodeEmptied } from "../../../../activities/pool/stages.ts";
import { holderOfUpgrade } from "../../../../activities/pool/upgraded_nodes.ts";
import type { DrainOutcome, Unseen } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { pool } from "../../../support/group_in_memory.ts";
import { answer } from "../../../support/fake_kube.ts";
import { desired, UpgradeStage } from "../../../support/upgrade_stage.ts";

const node = "workers-1";
const uid = "uid-of-workers-1";
const annotation = "constellation.edgeless.systems/kubernetes-components";
const moot = { type: "MachineGone", nonRetryable: true };

function announce(
  stage: UpgradeStage,
  change: { uid?: string; node?: string; components?: string } = {},
): Promise<void> {
  return ensureControlPlaneAnnounced(stage.client, {
    object: stage.object,
    node,
    uid,
    components: "components-2",
    ...change,
  });
}

function announced({ kube }: UpgradeStage, name = node): string | undefined {
  return kube.get("nodes", name)?.metadata.annotations?.[annotation];
}

Deno.test("K23 ensureControlPlaneAnnounced: annotates an upgraded control plane once", async () => {
  const stage = new UpgradeStage();
  stage.runs(node, desired);
  for (const time of ["first", "again"]) {
    await announce(stage);
    deepEqual([announced(stage), stage.kube.writes], ["components-2", [`patch nodes ${node}`]], time);
  }
});

Deno.test("K23 ensureControlPlaneAnnounced: is retried until the kubelet runs the new version, because the annotation lets the upgrade of workers begin", async () => {
  const stage = new UpgradeStage();
  await rejects(announce(stage), {
    type: "ApiUnavailable",
    nonRetryable: false,
    message: /its kubelet reports version "v1\.35\.3"/,
  });
  equal(announced(stage), "components-1");
  // A node is annotated with the components that it runs, also if the NodeVersion does not name them any more.
  await announce(stage, { components: "components-0" });
  equal(announced(stage), "components-0");
});

Deno.test("ensureControlPlaneAnnounced: fails with a non-retryable error when the node was deleted, also if a new node has its name", async () => {
  const stage = new UpgradeStage();
  stage.runs(node, desired);
  await rejects(announce(stage, { uid: "other" }), moot);
  await rejects(announce(stage, { node: "gone" }), moot);
  deepEqual(stage.kube.writes, []);
});

Deno.test("ensureControlPlaneAnnounced: refuses a node that is not a control plane", async () => {
  const stage = new UpgradeStage();
  stage.worker("w-1", desired);
  const refusal = { type: "ControlPlaneRefused", nonRetryable: true };
  await rejects(announce(stage, { node: "w-1", uid: "uid-of-w-1" }), refusal);
});

Deno.test("ensureControlPlaneAnnounced: is retried after a conflict or an outage", async () => {
  for (const status of [409, 500, 503]) {
    const stage = new UpgradeStage();
    stage.runs(node, desired);
    stage.kube.onRequest = (request) => {
      if (request.startsWith("patch")) throw answer(status, "No");
    };
    await rejects(announce(stage), { type: "ApiUnavailable", nonRetryable: false });
  }
});

Deno.test("ensureControlPlaneAnnounced: is retried, and then ends, when another node gets its name right before the patch", async () => {
  const stage = new UpgradeStage();
  stage.runs(node, desired);
  stage.kube.onRequest = (request) => {
    if (!request.startsWith("patch")) return;
    const causes = [{ reason: "FieldValueInvalid", message: "field is immutable", field: "metadata.uid" }];
    const body = { kind: "Status", code: 422, reason: "Invalid", message: "is invalid", details: { causes } };
    throw Object.assign(answer(422, "Invalid"), { body: JSON.stringify(body) });
  };
  await rejects(announce(stage), { type: "ApiUnavailable", nonRetryable: false });
  await rejects(announce(stage, { uid: "uid-of-before" }), moot);
});

function empty(stage: UpgradeStage): Promise<DrainOutcome | Unseen> {
  const rules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" } as const;
  const order = { pool, machine: node, node, until: Date.now() + 60_000, rules, known: "", force: false };
  return inActivity(() => awaitNodeEmptied(stage.client, { ...order, holder: holderOfUpgrade(stage.object) }));
}

function cordonOf({ kube }: UpgradeStage): [unknown, string | undefined] {
  const found = kube.get("nodes", node);
  return [found?.["spec"], found?.metadata.annotations?.["ostler.dev/cordoned-by"]];
}

Deno.test("K23 ensureControlPlaneUncordoned: removes a cordon only for the upgrade that made it, and only from the node with that name and uid; no rollout of a ScalingGroup removes it", async () => {
  const stage = new UpgradeStage();
  const before = cordonOf(stage);
  await empty(stage);
  const cordoned = cordonOf(stage);
  equal(cordoned[1], "scaling-group/kube-system/upgrade-kubernetes.v");
  await stage.backend.spare({ pool, machine: node });
  await ensureControlPlaneUncordoned(stage.client, { object: { name: "other" }, node, uid });
  await ensureControlPlaneUncordoned(stage.client, { object: stage.object, node, uid: "other" });
  await ensureControlPlaneUncordoned(stage.client, { object: stage.object, node: "gone", uid });
  deepEqual(cordonOf(stage), cordoned);
  for (const _ of ["first", "again"]) {
    await ensureControlPlaneUncordoned(stage.client, { object: stage.object, node, uid });
    deepEqual(cordonOf(stage), before);
  }
});

Deno.test("K23 ensureUpgradeEnded: uncordons the nodes that an upgrade has cordoned, after its NodeVersion was deleted, and no other nodes", async () => {
  const stage = new UpgradeStage();
  const before = cordonOf(stage);
  await empty(stage);
  const cordoned = { "ostler.dev/cordoned-by": "scaling-group/kube-system/scaling-group.workers" };
  const other = stage.kube.get("nodes", "workers-2");
  Object.assign(other?.metadata ?? {}, { annotations: cordoned });
  stage.kube.remove("nodeversions", "v");
  stage.kube.writes.length = 0;
  for (const _ of ["first", "again"]) {
    await ensureUpgradeEnded(stage.client, { object: stage.object });
    deepEqual([cordonOf(stage), stage.kube.writes], [before, [`patch nodes ${node}`]]);
  }
});

function conditions(
  { kube }: UpgradeStage,
): { type: string; status: string; reason: string; lastTransitionTime: string }[] {
  return (kube.get("nodeversions", "v")?.["status"] as { conditions: [] }).conditions;
}

function report(stage: UpgradeStage, reason: string, message = "m"): Promise<void> {
  const { object } = stage;
  return inActivity(() => ensureUpgradeReported(stage.client, { object, standing: { reason, message } }));
}

Deno.test("ensureUpgradeReported: sets condition KubernetesUpgraded, keeps other conditions, and sends one Event for each new reason", async () => {
  const stage = new UpgradeStage();
  const ready = { type: "Ready", status: "True", reason: "AllNodesCurrent", message: "", lastTransitionTime: "x" };
  Object.assign(stage.kube.get("nodeversions", "v")?.["status"] ?? {}, { conditions: [ready], budget: 1 });
  await report(stage, "AwaitingApproval");
  await report(stage, "AwaitingApproval");
  const [first, second] = conditions(stage);
  deepEqual([first, second?.type, second?.status, second?.reason], [
    ready,
    "KubernetesUpgraded",
    "False",
    "AwaitingApproval",
  ]);
  equal(stage.kube.writes.filter((each) => each.startsWith("patch nodeversions")).length, 1);
  await report(stage, "AwaitingApproval", "another message");
  equal(conditions(stage)[1]?.lastTransitionTime, second?.lastTransitionTime);
  await report(stage, "Upgrading");
  await report(stage, "UpToDate");
  deepEqual(conditions(stage).map(({ status, reason }) => [status, reason]), [
    ["True", "AllNodesCurrent"],
    ["True", "UpToDate"],
  ]);
  const events = stage.kube.all("events") as unknown as { type: string; reason: string }[];
  deepEqual(events.map(({ type, reason }) => [type, reason]), [
    ["Warning", "AwaitingApproval"],
    ["Normal", "Upgrading"],
    ["Normal", "UpToDate"],
  ]);
});

Deno.test("fault E4 ensureUpgradeReported: keeps an upgrade cancelled until a person requests another version, other components or a retry", async () => {
  const stage = new UpgradeStage();
  const version = (): NodeVersion => NodeVersion.parse(stage.kube.get("nodeversions", "v"));
  deepEqual(upgradeStateOf(version()), { state: "Possible", says: "" });
  await report(stage, "UpgradeCancelled", "cancelled");
  deepEqual(upgradeStateOf(version()), { state: "Cancelled", says: "cancelled" });
  const { metadata, spec } = version();
  const asked: [string, NodeVersion["metadata"], Partial<NodeVersion["spec"]>][] = [
    ["another version", metadata, { kubernetesClusterVersion: "v1.36.2" }],
    ["other components", metadata, { kubernetesComponentsReference: "components-3" }],
    ["another attempt", { ...metadata, annotations: { "ostler.dev/retry-kubernetes": "1" } }, {}],
  ];
  for (const [what, metadata, change] of asked) {
    const other = { ...version(), metadata, spec: { ...spec, ...change } };
    equal(upgradeStateOf(other).state, "Possible", what);
  }
  await report(stage, "Checking", "another attempt");
  deepEqual(upgradeStateOf(version()), { state: "Possible", says: "another attempt" });
  await report(stage, "UpToDate", "all run it");
  deepEqual(upgradeStateOf(version()), { state: "Possible", says: "" });
});

Deno.test("ensureUpgradeReported: does nothing for a deleted NodeVersion, and is retried after a conflict", async () => {
  const stage = new UpgradeStage();
  stage.kube.onRequest = (request) => {
    if (request.startsWith("patch")) throw answer(409, "Conflict");
  };
  await rejects(report(stage, "Upgrading"), { type: "ApiUnavailable", nonRetryable: false });
  stage.kube.remove("nodeversions", "v");
  await report(stage, "Upgrading");
});
