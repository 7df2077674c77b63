import { deepEqual, rejects } from "node:assert/strict";
import { machineController } from "../../../../../activities/backends/machine_controller/mod.ts";
import { poolWatchesOf } from "../../../../../activities/backends/machine_controller/pool_watch.ts";
import { answer, FakeKube } from "../../../../support/fake_kube.ts";
import { machineDeployment, pool } from "../../../../support/machine_objects.ts";

const prefix = "cluster.k8s.io/cluster-api-autoscaler-node-group";
const [least, most, record] = [`${prefix}-min-size`, `${prefix}-max-size`, "ostler.dev/autoscaler-min-size"];

interface Scene {
  kube: FakeKube;
  report: (isRolling: boolean) => Promise<unknown>;
  /**
   * Returns the autoscaler's minimum size from the annotations of the pool, and Ostler's record of the previous
   * minimum.
   */
  seen: () => (string | undefined)[];
  annotate: (annotations: Record<string, string>) => void;
}

/** Returns a pool of 3 machines; a watch of MachineDeployments shows whether the pool has an autoscaler. */
function sceneOf(annotations: Record<string, string>): Scene {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment({ annotations }));
  const { client } = kube;
  const { deployments } = poolWatchesOf(client);
  const facts = { isAutoscaled: Object.keys(annotations).length > 0 };
  Object.defineProperties(deployments, { isFresh: { get: () => true }, get: { value: () => facts } });
  const backend = machineController(client);
  const has = (): Record<string, string> => kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations ?? {};
  return {
    kube,
    report: (isRolling) => backend.autoscaling(pool, { isRolling }),
    seen: () => [has()[least], has()[record]],
    annotate: (changed) => void Object.assign(has(), changed),
  };
}

Deno.test("fault G13: an autoscaler cannot shrink a pool below its size while it is rolled", async () => {
  const { kube, report, seen } = sceneOf({ [least]: "1", [most]: "10" });
  for (const isRolling of [true, true]) await report(isRolling);
  deepEqual([seen(), kube.writes.length], [["3", "1 3"], 1]);
  const spec = kube.get("machinedeployments", "pool", "fleet")?.["spec"] as { replicas: number };
  spec.replicas = 5;
  await report(true);
  deepEqual(seen(), ["5", "1 5"]);
  for (const isRolling of [false, false]) await report(isRolling);
  deepEqual([seen(), kube.writes.length], [["1", undefined], 3]);
});

Deno.test("fault G13: the minimum is raised to the pool's size or the maximum, whichever is smaller, and a larger minimum stays unchanged", async () => {
  const small = sceneOf({ [least]: "1", [most]: "2" });
  await small.report(true);
  deepEqual(small.seen(), ["2", "1 2"]);
  const large = sceneOf({ [least]: "4", [most]: "10" });
  await large.report(true);
  deepEqual([large.seen(), large.kube.writes], [["4", undefined], []]);
});

Deno.test("fault G13: a minimum that another client writes during a rollout is the one that is restored after the rollout", async () => {
  const { report, seen, annotate } = sceneOf({ [least]: "1", [most]: "10" });
  await report(true);
  annotate({ [least]: "2" });
  await report(true);
  deepEqual(seen(), ["3", "2 3"]);
  await report(false);
  deepEqual(seen(), ["2", undefined]);
  await report(true);
  annotate({ [least]: "0" });
  await report(false);
  deepEqual(seen(), ["0", undefined]);
});

Deno.test("fault G13: a pool without an autoscaler costs no request, and unreadable bounds are left alone", async () => {
  const bare = sceneOf({});
  bare.kube.onRequest = () => {
    throw answer(500, "InternalError");
  };
  await bare.report(true);
  await bare.report(false);
  const odd = sceneOf({ [least]: "a few", [most]: "10", [record]: "some" });
  await odd.report(true);
  deepEqual(odd.seen(), ["a few", "some"]);
  await odd.report(false);
  deepEqual(odd.seen(), ["a few", undefined]);
});

Deno.test("fault G13: a concurrent change of the pool makes the step fail as ApiUnavailable", async () => {
  const { kube, report } = sceneOf({ [least]: "1", [most]: "10" });
  kube.onRequest = (line) => {
    if (line.startsWith("patch")) throw answer(409, "Conflict");
  };
  await rejects(report(true), { type: "ApiUnavailable" });
});
