import { deepEqual, equal, rejects } from "node:assert/strict";
import { planRollout, readPlan } from "../../../../activities/pool/plan_rollout.ts";
import type { Forecast } from "../../../../activities/pool/plan_rollout.ts";
import { forecast } from "../../../../workflows/policy/forecast.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, node, pool, putPool } from "../../../support/machine_objects.ts";

const names = Array.from({ length: 25 }, (_, nth) => `m-${String(nth).padStart(2, "0")}`);

/** Returns a pool of 25 machines with an old template; its Rollout records 60 s for a join and 30 s for a removal. */
function rollingKube(): FakeKube {
  const kube = new FakeKube();
  putPool(kube, { spec: { replicas: names.length } });
  const metadata = { namespace: "kube-system", name: "osp-ubuntu", generation: 1 };
  kube.put("operatingsystemprofiles", { metadata, spec: {} });
  for (const name of names) {
    kube.put("machines", machine(name, { hash: "hash-0" }));
    kube.put("nodes", node(`node-${name}`));
  }
  kube.put("rollouts", { metadata: { ...pool }, status: { usual: { join: [60], leave: [30] } } });
  return kube;
}

function plannerOf(kube: FakeKube, play: Forecast = forecast): Parameters<typeof readPlan>[0] {
  return { kube: kube.client, profileNamespace: "kube-system", forecast: play };
}

Deno.test("readPlan: names every machine, and takes the expected durations from the Rollout", async () => {
  const plan = await readPlan(plannerOf(rollingKube()), pool);
  deepEqual(plan.waves.map(({ machines }) => machines), [names]);
  deepEqual([plan.seconds, plan.blocked, plan.machines], [{ low: 25 * 90, high: 25 * 90 }, [], 25]);
});

Deno.test("planRollout: returns the same plan as readPlan, with at most twenty names of machines", async () => {
  const kube = rollingKube();
  const whole = await readPlan(plannerOf(kube), pool);
  const bounded = await planRollout(plannerOf(kube), { pool, templateHash: "hash-1" });
  deepEqual(bounded.waves.map(({ size, machines }) => [size, machines]), [[25, names.slice(0, 20)]]);
  equal(bounded.hash, whole.hash);
});

Deno.test("planRollout: passes the desired template, the policy, the status of the Rollout, and machines in the order of replacement to the planner", async () => {
  const kube = rollingKube();
  const mark = { "cluster.k8s.io/delete-machine": "somebody" };
  kube.put("machines", machine("m-07", { hash: "hash-0", annotations: mark }));
  const questions: Parameters<Forecast>[0][] = [];
  await readPlan(
    plannerOf(kube, (question) => {
      questions.push(question);
      return forecast(question);
    }),
    pool,
  );
  const [question] = questions;
  deepEqual([question?.desired.templateHash, question?.rules.source], ["hash-1", "defaults"]);
  deepEqual(question?.memory.usual, { join: [60], leave: [30] });
  equal(question?.members[0]?.id, "m-07");
});

Deno.test("planRollout: fails as GenerationStale when another template is desired, or the pool does not exist", async () => {
  const stale = { type: "GenerationStale" };
  await rejects(planRollout(plannerOf(rollingKube()), { pool, templateHash: "hash-9" }), stale);
  await rejects(readPlan(plannerOf(new FakeKube()), pool), stale);
});
