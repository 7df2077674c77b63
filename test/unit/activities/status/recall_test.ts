import { deepEqual, rejects } from "node:assert/strict";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import { recall } from "../../../../activities/status/recall.ts";
import type { Memory, RolloutReport } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { pool, putPool } from "../../../support/machine_objects.ts";

const nothing: Memory = { paused: null, quarantine: [], lastGood: null, usual: { join: [], leave: [] }, left: null };

function kubeWith(status: unknown): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  kube.put("rollouts", { metadata: { ...pool }, status });
  return kube;
}

Deno.test("recall: returns nothing when the Rollout is missing, or an earlier version of Ostler wrote it", async () => {
  deepEqual(await recall(new FakeKube().client, pool), nothing);
  deepEqual(await recall(kubeWith(undefined).client, pool), nothing);
  deepEqual(await recall(kubeWith({ phase: "Converged", paused: false, history: [] }).client, pool), nothing);
});

Deno.test("fault E3: recall: returns what a previous run reported in the status, with skipped machines and the approval", async () => {
  const request = { by: "ann", reason: "night", since: 1 };
  const bad = { ...request, specHash: "s", templateHash: "t", revision: "2", image: "i", kubelet: "k" };
  const memory: Memory = {
    paused: request,
    quarantine: [bad],
    lastGood: { templateHash: "t", revision: "1", image: "i", kubelet: "k", configDigest: "d", specHash: "s" },
    usual: { join: [1, 2.5], leave: [3] },
    left: { ...request, kind: "RollBack", bad, reapplied: 2 },
    observed: "g7",
    templateHash: "t",
    skipped: ["m1", "m2"],
    approval: { plan: "h", templateHash: "t", wave: 1, terms: { hash: "x", replicas: 3, form: 2 } },
    isRollingBack: true,
    isOpen: true,
  };
  const report: RolloutReport = {
    ...{ phase: "Rolling", reason: "r", message: "m", blockedReason: null, eta: null, plan: null, underway: [] },
    ...{ conditions: [], paused: true, pausedBy: memory.paused, quarantine: memory.quarantine },
    ...{ lastGood: memory.lastGood ?? undefined, usual: memory.usual, left: memory.left ?? null, observed: "g7" },
    ...{ targetTemplateHash: "t", skipped: memory.skipped, approval: memory.approval },
    convergedTemplateHash: "rolling-back",
  } as RolloutReport;
  const kube = kubeWith({});
  await inActivity(() => ensureRolloutReported(kube.client, { pool, report, events: [] }));
  deepEqual(await recall(kube.client, pool), memory);
});

Deno.test("recall: returns unknown as the author of a pause when the status does not name one", async () => {
  const { paused } = await recall(kubeWith({ paused: true }).client, pool);
  deepEqual(paused, { by: "unknown", reason: "", since: 0 });
  deepEqual((await recall(kubeWith({ pausedBy: { by: "a", reason: "", since: 1 } }).client, pool)).paused, null);
});

Deno.test("recall: ignores only the invalid parts of a status", async () => {
  const good = {
    by: "policy",
    reason: "r",
    since: 1,
    specHash: "s",
    templateHash: "t",
    revision: "2",
    image: "i",
    kubelet: "k",
  };
  const status = {
    quarantine: ["odd", good],
    lastGood: "odd",
    usual: { join: ["odd"], leave: [4] },
    left: { kind: 1 },
  };
  const { quarantine, lastGood, usual, left } = await recall(kubeWith(status).client, pool);
  deepEqual({ quarantine, lastGood, usual, left }, {
    ...{ quarantine: [good], lastGood: null, usual: { join: [], leave: [4] }, left: null },
  });
});

Deno.test("recall: fails as a retryable ApiUnavailable when the API fails", async () => {
  const kube = kubeWith({});
  kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  await rejects(recall(kube.client, pool), { type: "ApiUnavailable" });
});
