import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Check } from "../../../../workflows/contracts/mod.ts";
import { answer, type FakeKube, type Stored } from "../../../support/fake_kube.ts";
import { ask, askWave, gate, kubeWithPool, later } from "./gate_question.ts";

const check: Check = { kind: "Job", namespace: "checks", cronJob: "smoke" };
const created = (kube: FakeKube): string[] => kube.writes.filter((write) => write.startsWith("create jobs"));

function kubeWithCronJob(spec: Record<string, unknown> = {}): FakeKube {
  const kube = kubeWithPool();
  const template = { metadata: { labels: { app: "smoke" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  kube.put("cronjobs", {
    metadata: { namespace: "checks", name: "smoke" },
    spec: { jobTemplate: { metadata: { labels: { team: "platform" } }, spec: { template, backoffLimit: 0, ...spec } } },
  });
  return kube;
}

/** Makes the Job end with this condition at the second read. */
function endJob(kube: FakeKube, condition: Record<string, string>): void {
  kube.onRequest = (request) => {
    const [job] = kube.all("jobs");
    if (!job || !request.startsWith("get jobs")) return;
    kube.put("jobs", { ...job, status: { conditions: [{ status: "True", ...condition }] } });
  };
}

function onlyJob(kube: FakeKube): Stored & { spec: Record<string, unknown> } {
  equal(kube.all("jobs").length, 1);
  return kube.all("jobs")[0] as Stored & { spec: Record<string, unknown> };
}

Deno.test("lookAtJob: makes one Job of the CronJob's template and passes when it is Complete", async () => {
  const kube = kubeWithCronJob();
  endJob(kube, { type: "Complete" });
  const [verdict] = await ask(kube, [gate(check)], { until: later() });
  equal(verdict?.outcome, "Passed");
  match(verdict?.message ?? "", /^Job "checks\/smoke-ostler-[0-9a-f]{12}" is Complete$/);
  const { metadata, spec } = onlyJob(kube);
  const annotations = {
    ...{ "ostler.dev/gate-key": "fleet/pool/probe/a/0", "ostler.dev/pool": "fleet/pool", "ostler.dev/gate": "probe" },
    ...{ "ostler.dev/machine": "a", "ostler.dev/node": "node-a" },
  };
  const { "ostler.dev/gate-until": until = "", ...others } = metadata.annotations ?? {};
  deepEqual(others, annotations);
  ok(Date.parse(until) > Date.now(), until);
  deepEqual(metadata.labels, { team: "platform", "app.kubernetes.io/managed-by": "ostler" });
  deepEqual(spec["template"], {
    metadata: { labels: { app: "smoke" }, annotations },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  equal(spec["ttlSecondsAfterFinished"], 86_400);
  equal(metadata.ownerReferences, undefined);
});

Deno.test("lookAtJob: fails before the deadline, with the reason of the Job, when the Job has failed", async () => {
  const kube = kubeWithCronJob();
  endJob(kube, { type: "Failed", reason: "BackoffLimitExceeded", message: "Job has reached the backoff limit" });
  const [verdict] = await ask(kube, [gate(check)], { until: later() });
  equal(verdict?.outcome, "Failed");
  match(verdict?.message ?? "", / failed \(BackoffLimitExceeded: Job has reached .*\), wanted Complete$/);
});

Deno.test("lookAtJob: is Inconclusive when the gate's timeout ended the Job, and fails when the template's own deadline ended it", async () => {
  const stopped = { type: "Failed", reason: "DeadlineExceeded", message: "Job was active longer than specified" };
  for (const [template, outcome] of [[{}, "Inconclusive"], [{ activeDeadlineSeconds: 5 }, "Failed"]] as const) {
    const kube = kubeWithCronJob(template);
    await ask(kube, [gate(check)]);
    endJob(kube, stopped);
    equal((await ask(kube, [gate(check)]))[0]?.outcome, outcome);
  }
});

Deno.test("lookAtJob: reuses its Job when the activity is retried, and makes a new one for another gate, wave or attempt of the machine", async () => {
  const kube = kubeWithCronJob();
  for (const _ of [1, 2]) equal((await ask(kube, [gate(check)]))[0]?.outcome, "Inconclusive");
  equal(created(kube).length, 1);
  await ask(kube, [gate(check)], { key: "a/1" });
  await askWave(kube, [gate(check)]);
  await ask(kube, [gate(check, { name: "other" })]);
  equal(new Set(created(kube)).size, 4);
});

Deno.test("lookAtJob: continues when a concurrent attempt has created the Job first", async () => {
  const kube = kubeWithCronJob();
  await ask(kube, [gate(check)]);
  const job = onlyJob(kube);
  kube.remove("jobs", job.metadata.name, "checks");
  kube.onRequest = (request) => {
    if (request.startsWith("create jobs")) kube.put("jobs", job);
  };
  equal((await ask(kube, [gate(check)]))[0]?.outcome, "Inconclusive");
});

Deno.test("lookAtJob: is Inconclusive when the Job cannot be created", async () => {
  const kube = kubeWithCronJob();
  kube.onRequest = (request) => {
    // The API server gives this answer for an admission webhook that does not respond.
    if (request.startsWith("create jobs")) throw answer(500, "InternalError");
  };
  const [verdict] = await ask(kube, [gate(check)]);
  equal(verdict?.outcome, "Inconclusive");
  match(verdict?.message ?? "", /^Failed to create Job "checks\/smoke-ostler-[0-9a-f]{12}": HTTP 500, InternalError$/);
});

Deno.test("lookAtJob: fails as NameCollision for a Job of another owner with its name, and is Inconclusive when the CronJob does not exist", async () => {
  const kube = kubeWithCronJob();
  await ask(kube, [gate(check)]);
  const job = onlyJob(kube);
  kube.put("jobs", { ...job, metadata: { ...job.metadata, annotations: {} } });
  await rejects(ask(kube, [gate(check)]), { type: "NameCollision" });
  const [verdict] = await ask(kubeWithPool(), [gate(check)]);
  deepEqual([verdict?.outcome, verdict?.message], [
    "Inconclusive",
    'CronJob "checks/smoke" does not exist',
  ]);
});

Deno.test("jobFor: limits the Job to the gate's timeout, unless the template has a limit", async () => {
  const bounded = kubeWithCronJob();
  await ask(bounded, [gate(check)], { until: Date.now() + 30 });
  equal(onlyJob(bounded).spec["activeDeadlineSeconds"], 1);
  const own = kubeWithCronJob({ activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 200_000 });
  await ask(own, [gate(check)]);
  const { spec } = onlyJob(own);
  deepEqual([spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]], [600, 200_000]);
  const brief = kubeWithCronJob({ ttlSecondsAfterFinished: 0 });
  await ask(brief, [gate(check)]);
  equal(
    onlyJob(brief).spec["ttlSecondsAfterFinished"],
    86_400,
    "Expected a TTL, because a Job that is removed at once would run again",
  );
});

Deno.test("jobName: fits into a label for any name of the CronJob", async () => {
  const kube = kubeWithCronJob();
  const long = `${"x".repeat(42)}-tail`;
  kube.put("cronjobs", { ...kube.all("cronjobs")[0], metadata: { namespace: "checks", name: long } });
  await ask(kube, [gate({ ...check, cronJob: long })]);
  const { name } = onlyJob(kube).metadata;
  ok(name.length <= 63, name);
  notEqual(name.includes("--"), true);
});
