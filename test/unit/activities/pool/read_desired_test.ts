import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import type { RolloutObject } from "../../../../activities/kube/resources.ts";
import { awaitDesiredSettled, findDesired, readDesired } from "../../../../activities/pool/read_desired.ts";
import type { Desired } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, machineSet, pool, putPool, revisionKey } from "../../../support/machine_objects.ts";
import type { DeploymentOverrides } from "../../../support/machine_objects.ts";

const profileNamespace = "kube-system";

function kubeWith(overrides: DeploymentOverrides = {}): FakeKube {
  const kube = new FakeKube();
  putPool(kube, overrides);
  putProfile(kube, 4);
  return kube;
}

function putProfile(kube: FakeKube, generation: number): void {
  const metadata = { namespace: "kube-system", name: "osp-ubuntu", generation };
  kube.put("operatingsystemprofiles", { metadata, spec: {} });
}

async function desiredOf(kube: FakeKube): Promise<Desired> {
  const seen = await readDesired({ kube: kube.client, profileNamespace }, pool);
  if (seen.state !== "Present") throw new Error(`Failed to read the desired state: the pool is ${seen.state}`);
  return seen.desired;
}

Deno.test("readDesired: returns what a MachineDeployment asks for", async () => {
  const { observed, change, specHash, ...desired } = await desiredOf(kubeWith());
  deepEqual(desired, {
    actor: "unknown",
    ...{ generation: 1, settled: true, revision: "1", templateHash: "hash-1", replicas: 3, surge: 1 },
    ...{ image: "docker://example/ubuntu:1", kubelet: "1.35.3" },
    profile: { name: "osp-ubuntu", namespace: "kube-system" },
  });
  match(observed, /^g1-r1-[0-9a-f]{16}$/);
  match(change, /^[0-9a-f]{16}$/);
  match(specHash, /^[0-9a-f]{16}-[0-9a-f]{16}$/);
});

Deno.test("readDesired: returns the rules of the pool's policy, or the defaults", async () => {
  const seen = await readDesired({ kube: kubeWith().client, profileNamespace }, pool);
  equal(seen.state === "Present" && seen.rules.source, "defaults");
  const kube = kubeWith();
  kube.put("rolloutpolicies", { metadata: { namespace: "fleet", name: "slow" }, spec: { maxFailed: 7 } });
  const ruled = await readDesired({ kube: kube.client, profileNamespace }, pool);
  equal(ruled.state === "Present" && ruled.rules.maxFailed, 7);
});

Deno.test("readDesired: returns Gone for a missing MachineDeployment, and Deleting while it is being deleted", async () => {
  const reader = (kube: FakeKube): Parameters<typeof readDesired>[0] => ({ kube: kube.client, profileNamespace });
  deepEqual(await readDesired(reader(new FakeKube()), pool), { state: "Gone" });
  const kube = kubeWith({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  deepEqual(await readDesired(reader(kube), pool), { state: "Deleting" });
});

Deno.test("readDesired: returns one replica when replicas is not set, as machine-controller does", async () => {
  equal((await desiredOf(kubeWith({ spec: { replicas: undefined } }))).replicas, 1);
});

const surges: [unknown, number][] = [[undefined, 1], [null, 1], [0, 0], [2, 2], ["25%", 2], ["34%", 2], ["0%", 0]];
for (const [maxSurge, surge] of surges) {
  Deno.test(`readDesired: returns surge ${surge} for maxSurge ${JSON.stringify(maxSurge)} and 5 replicas`, async () => {
    const spec = { replicas: 5, strategy: { rollingUpdate: { maxSurge } } };
    equal((await desiredOf(kubeWith({ spec }))).surge, surge);
  });
}

Deno.test("readDesired: returns settled=false while machine-controller has not observed the generation", async () => {
  equal((await desiredOf(kubeWith({ metadata: { generation: 2 } }))).settled, false);
});

Deno.test("readDesired: returns settled=false while no MachineSet has the desired revision", async () => {
  const kube = kubeWith({ annotations: { [revisionKey]: "2" } });
  const { settled, templateHash } = await desiredOf(kube);
  deepEqual([settled, templateHash], [false, ""]);
});

Deno.test("readDesired: ignores the MachineSet of another MachineDeployment", async () => {
  const kube = kubeWith();
  const set = machineSet();
  kube.remove("machinesets", set.metadata.name, "fleet");
  const ownerReferences = [{ kind: "MachineDeployment", name: "pool", uid: "other" }];
  kube.put("machinesets", { metadata: { ...set.metadata, ownerReferences } });
  equal((await desiredOf(kube)).settled, false);
});

Deno.test("readDesired: reads a profile of another namespace if the annotation names it", async () => {
  const kube = kubeWith({ annotations: { "k8c.io/operating-system-profile-namespace": "profiles" } });
  deepEqual((await desiredOf(kube)).profile, { name: "osp-ubuntu", namespace: "profiles" });
});

Deno.test("readDesired: `observed` changes with the profile, the kubelet settings and the generation, and not with an unrelated annotation", async () => {
  const before = await desiredOf(kubeWith());
  const kubelet = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
  const news = [
    kubeWith({ metadata: { generation: 2 } }),
    kubeWith({ annotations: { [kubelet]: "50" } }),
    kubeWith({ annotations: { "k8c.io/operating-system-profile": "osp-other" } }),
  ];
  for (const kube of news) notEqual((await desiredOf(kube)).observed, before.observed);
  const noise = kubeWith({ annotations: { "example.com/note": "hello" } });
  equal((await desiredOf(noise)).observed, before.observed);
});

Deno.test("readDesired: keeps the identity of a change when only replicas changed", async () => {
  const before = await desiredOf(kubeWith());
  const scaled = await desiredOf(kubeWith({ spec: { replicas: 9 }, metadata: { generation: 2 } }));
  equal(scaled.change, before.change);
  const kube = kubeWith();
  putProfile(kube, 5);
  notEqual((await desiredOf(kube)).change, before.change);
});

Deno.test("readDesired: fails as a retryable ApiUnavailable when the API fails", async () => {
  const kube = kubeWith();
  kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  await rejects(desiredOf(kube), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("awaitDesiredSettled: ends when machine-controller has observed the generation", async () => {
  const kube = kubeWith({ metadata: { generation: 2 } });
  const heartbeats: unknown[] = [];
  let looks = 0;
  kube.onRequest = (request) => {
    if (request.startsWith("get machinedeployments") && looks++ === 1) {
      kube.put("machinedeployments", { ...machineDeployment(), metadata: machineDeployment().metadata });
    }
  };
  const order = { pool, until: Date.now() + 10_000 };
  const seen = await inActivity(() => awaitDesiredSettled({ kube: kube.client, profileNamespace }, order), {
    heartbeats,
  });
  equal(seen.state === "Present" && seen.desired.settled, true);
  deepEqual(heartbeats, ["machine-controller has not observed generation 2"]);
});

Deno.test("awaitDesiredSettled: ends at once when the MachineDeployment is deleted, and times out at its deadline", async () => {
  const order = { pool, until: Date.now() };
  const reader = { kube: new FakeKube().client, profileNamespace };
  deepEqual(await inActivity(() => awaitDesiredSettled(reader, order)), { state: "Gone" });
  const kube = kubeWith({ metadata: { generation: 2 } });
  const late = inActivity(() => awaitDesiredSettled({ kube: kube.client, profileNamespace }, order));
  await rejects(late, { type: "SettleExpired" });
});

Deno.test("findDesired: takes the pinned revision from the given Rollout, and reads the Rollout when it is not given", async () => {
  const kube = kubeWith();
  const reader = { kube: kube.client, profileNamespace };
  const { specHash } = await desiredOf(kube);
  const bad = specHash.slice(17);
  const pinned = kube.put("rollouts", { metadata: { ...pool }, status: { pin: { bad, good: "0".repeat(16) } } });
  kube.put("rollouts", { metadata: { ...pool }, status: {} });
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  const inputs = async (rollout?: RolloutObject | null): Promise<string | undefined> => {
    requests.length = 0;
    const { seen } = await findDesired(reader, pool, rollout === undefined ? {} : { rollout });
    return seen.state === "Present" ? seen.desired.specHash.slice(17) : undefined;
  };
  equal(await inputs(pinned as RolloutObject), "0".repeat(16));
  equal(requests.includes("get rollouts fleet/pool"), false);
  equal(await inputs(null), bad);
  equal(requests.includes("get rollouts fleet/pool"), false);
  equal(await inputs(), bad);
  equal(requests.includes("get rollouts fleet/pool"), true);
});
