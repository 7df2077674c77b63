import { deepEqual, rejects } from "node:assert/strict";
import { useCloud } from "../../../support/staged_cluster.ts";
import type { CloudGroup, Driver } from "../../../../activities/clouds/driver.ts";
import { discoverScalingGroups } from "../../../../activities/backends/scaling_group/discovery.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { directCloud } from "../../../support/group_in_memory.ts";
import { GroupCloud } from "../../../../deploy/local/cloud/groups/group_cloud.ts";

const minutes = 60_000;
const a: CloudGroup = {
  id: "ids/A",
  name: "A",
  autoscalerName: "asg-a",
  role: "ControlPlane",
  min: 1,
  max: 3,
  size: 1,
};
const b: CloudGroup = { ...a, id: "ids/b", name: "b", autoscalerName: "asg-b", role: "Worker" };

/** Returns a client whose cloud lists these groups; unless `isComplete` they are only a part of all groups. */
function kubeWith(
  listed: { groups: CloudGroup[]; isComplete: boolean },
  cloud = new GroupCloud(),
): FakeKube["client"] & { fake: FakeKube } {
  const fake = new FakeKube();
  const client = fake.client;
  const driver: Driver = { ...directCloud(cloud), groups: () => Promise.resolve(listed) };
  useCloud(client, () => Promise.resolve(driver));
  return { ...client, fake };
}

function specs({ fake }: { fake: FakeKube }): object[] {
  return fake.all("scalinggroups").map(({ metadata: { name }, spec }) => ({ name, ...spec as object }));
}

Deno.test("X1, X3 discovery: makes a ScalingGroup with the data of the cloud's group, and sets min 1 and max 10", async () => {
  const kube = kubeWith({ groups: [a], isComplete: true });
  deepEqual(await discoverScalingGroups(kube, 0), { groups: 1, made: ["a"], removed: [] });
  deepEqual(specs(kube), [{
    ...{ name: "a", nodeImage: "constellation-version", min: 1, max: 10, autoscaling: false },
    ...{ groupId: "ids/A", nodeGroupName: "A", autoscalerGroupName: "asg-a", role: "ControlPlane" },
  }]);
  deepEqual(await discoverScalingGroups(kube, 0), { groups: 1, made: [], removed: [] });
});

Deno.test("X2, K20 discovery: deletes the object of a group that three complete lists in a row did not contain", async () => {
  const listed = { groups: [a], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  listed.groups = [b];
  for (const at of [10, 20]) {
    deepEqual((await discoverScalingGroups(kube, at * minutes)).removed, [], `at minute ${at}`);
  }
  listed.groups = [a, b];
  await discoverScalingGroups(kube, 30 * minutes);
  listed.groups = [b];
  for (const at of [40, 50]) await discoverScalingGroups(kube, at * minutes);
  deepEqual((await discoverScalingGroups(kube, 60 * minutes)).removed, ["a"]);
  deepEqual(specs(kube).length, 1);
});

Deno.test("K20 discovery: ignores incomplete lists of groups, and counts complete lists that are only a minute apart once", async () => {
  const listed = { groups: [a], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  Object.assign(listed, { groups: [], isComplete: false });
  for (let at = 10; at < 60; at += 10) await discoverScalingGroups(kube, at * minutes);
  Object.assign(listed, { isComplete: true });
  for (const at of [60, 61, 62]) await discoverScalingGroups(kube, at * minutes);
  deepEqual(specs(kube).length, 1);
});

Deno.test("K20 discovery: deletes no ScalingGroup while the cloud lists no group at all, because a wrong account, place or tag has the same answer", async () => {
  const listed = { groups: [a, b], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  listed.groups = [];
  for (let at = 10; at < 100; at += 10) await discoverScalingGroups(kube, at * minutes);
  deepEqual(specs(kube).length, 2);
});

Deno.test("K20 discovery: keeps the fields that people set on a group, and updates its name from the cloud (X4)", async () => {
  const listed = { groups: [a], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  const object = kube.fake.get("scalinggroups", "a");
  Object.assign(object?.["spec"] ?? {}, { min: 2, max: 7, autoscaling: true, nodeImage: "mine" });
  listed.groups = [{ ...a, name: "renamed" }];
  await discoverScalingGroups(kube, 0);
  const [{ min, max, autoscaling, nodeImage, nodeGroupName } = {}] = specs(kube) as Record<string, unknown>[];
  deepEqual([min, max, autoscaling, nodeImage, nodeGroupName], [2, 7, true, "mine", "renamed"]);
});

Deno.test("K21 discovery: treats group IDs that differ only in case as the same group, and makes an object for each of two groups with the same name", async () => {
  const listed = { groups: [a], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  listed.groups = [{ ...a, id: a.id.toUpperCase() }, { ...b, name: "a" }];
  const { made } = await discoverScalingGroups(kube, 0);
  deepEqual([made.length, made[0]?.startsWith("a-"), specs(kube).length], [1, true, 2]);
  deepEqual((await discoverScalingGroups(kube, 0)).made, []);
});

Deno.test("K21 discovery: makes no second ScalingGroup when a user makes one for the same group during the discovery", async () => {
  const kube = kubeWith({ groups: [b], isComplete: true });
  kube.fake.onRequest = (request) => {
    if (!request.startsWith("create scalinggroups")) return;
    const spec = { nodeImage: "v", groupId: "ids/B", nodeGroupName: "b", autoscalerGroupName: "asg-b", role: "Worker" };
    kube.fake.put("scalinggroups", { metadata: { name: "b" }, spec });
  };
  deepEqual((await discoverScalingGroups(kube, 0)).made, []);
  deepEqual(kube.fake.all("scalinggroups").map(({ metadata: { name } }) => name), ["b"]);
});

Deno.test("IR1 discovery: makes neither NodeVersion nor AutoscalingStrategy, which people must write", async () => {
  const kube = kubeWith({ groups: [a, b], isComplete: true });
  await discoverScalingGroups(kube, 0);
  deepEqual(["nodeversions", "autoscalingstrategies"].map((kind) => kube.fake.all(kind).length), [0, 0]);
});

Deno.test("discovery: takes the role of a group from its nodes, and makes no ScalingGroup before the group has a node", async () => {
  for (
    const [label, role] of [["node-role.kubernetes.io/control-plane", "ControlPlane"], ["pool", "Worker"]] as const
  ) {
    const cloud = new GroupCloud();
    const kube = kubeWith({ groups: [{ ...b, role: "" }], isComplete: true }, cloud);
    cloud.create({ ...b, zones: ["a"], template: { image: "i" } });
    deepEqual((await discoverScalingGroups(kube, 0)).made, []);
    const [{ providerId = "", node: name = "" } = {}] = cloud.instances();
    kube.fake.put("nodes", { metadata: { name, labels: { [label]: "" } }, spec: { providerID: providerId } });
    deepEqual((await discoverScalingGroups(kube, 0)).made, ["b"]);
    deepEqual((specs(kube) as { role: string }[]).map((each) => each.role), [role]);
  }
});

Deno.test("X3 discovery: fails when an object cannot be made", async () => {
  const kube = kubeWith({ groups: [a], isComplete: true });
  kube.fake.onRequest = (request) => {
    if (request.startsWith("create")) throw answer(500, "InternalError");
  };
  await rejects(discoverScalingGroups(kube, 0), { type: "ApiUnavailable" });
});

Deno.test("fault G2: discovery makes the objects of all accepted groups before it fails for a group that the cloud refused", async () => {
  const kube = kubeWith({ groups: [{ ...a, id: "unknown", role: "" }, b], isComplete: true });
  await rejects(discoverScalingGroups(kube, 0), { type: "CloudRefused", message: /unknown/ });
  deepEqual((specs(kube) as { name: string }[]).map(({ name }) => name), ["b"]);
});

Deno.test("fault G13: discovery removes Ostler's scale-down-disabled annotation from nodes whose ScalingGroup was deleted or has no rollout in progress", async () => {
  const kube = kubeWith({ groups: [b], isComplete: true });
  await discoverScalingGroups(kube, 0);
  const disabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  const put = (name: string, holder: string): void => {
    const annotations = { [disabled]: "true", "ostler.dev/scale-down-disabled-by": holder };
    kube.fake.put("nodes", { metadata: { name, annotations }, spec: {} });
  };
  put("of-b", "scaling-group/kube-system/scaling-group.b");
  put("of-gone", "scaling-group/kube-system/scaling-group.gone");
  put("of-gone-named", "cluster-1/scaling-group/kube-system/scaling-group.gone");
  put("of-pool", "machine-deployment/fleet/pool");
  const kept = async (phase?: string): Promise<string[]> => {
    const metadata = { namespace: "kube-system", name: "scaling-group.b" };
    if (phase) kube.fake.put("rollouts", { metadata, status: { phase } });
    await discoverScalingGroups(kube, 0);
    return kube.fake.all("nodes").filter(({ metadata }) => metadata.annotations?.[disabled])
      .map(({ metadata: { name } }) => name);
  };
  deepEqual(await kept(), ["of-b", "of-pool"]);
  deepEqual(await kept("Halted"), ["of-b", "of-pool"]);
  deepEqual(await kept("Converged"), ["of-pool"]);
});

// The names that the API server accepts for a ScalingGroup (RFC 1123).
const valid = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

Deno.test("discovery: gives ScalingGroups names that the API server accepts, whatever the names of the groups", async () => {
  const names = ["gpu (spot).eu", "a..b", "x._.y", ".-.", "Node.Pool-1", `${"n".repeat(198)}-.eu`];
  const kube = kubeWith({ groups: names.map((name, nth) => ({ ...b, id: `ids/${nth}`, name })), isComplete: true });
  const { made } = await discoverScalingGroups(kube, 0);
  deepEqual(made, ["gpu-spot.eu", "a.b", "x.y", "group", "node.pool-1", "n".repeat(198)]);
  deepEqual(made.filter((name) => !valid.test(name)), []);
});

Deno.test("discovery: makes the objects of all other groups and counts absent groups when the API server refuses the object of one group", async () => {
  const listed = { groups: [a], isComplete: true };
  const kube = kubeWith(listed);
  await discoverScalingGroups(kube, 0);
  listed.groups = [{ ...b, id: "ids/c", name: "c" }, b];
  kube.fake.onRequest = (request) => {
    if (request.startsWith("create scalinggroups") && request.endsWith("c")) throw answer(422, "Invalid");
  };
  for (const at of [10, 20, 30]) {
    await rejects(discoverScalingGroups(kube, at * minutes), {
      type: "ObjectInvalid",
      message: 'Failed to create or update the ScalingGroup of group "ids/c": HTTP 422, Invalid',
    });
  }
  deepEqual((specs(kube) as { name: string }[]).map(({ name }) => name), ["b"]);
});
