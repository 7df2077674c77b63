import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { ensureReleaseEnded, hashOf } from "../../../../activities/node_version/version_release.ts";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import { useCloud } from "../../../support/staged_cluster.ts";
import { unavailable } from "../../../../activities/failures.ts";
import { observedOf } from "../../../../activities/backends/scaling_group/target.ts";
import { NodeVersion, ScalingGroup } from "../../../../activities/kube/update_kinds.ts";
import type { VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { answer, type Stored } from "../../../support/fake_kube.ts";
import { GroupInMemory, next, pool, version } from "../../../support/group_in_memory.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const object = { name: "v" };
const image = "constellation.edgeless.systems/node-image";
const groupId = "constellation.edgeless.systems/scaling-group-id";

async function look(group: GroupInMemory): Promise<Present> {
  const seen = await surveyNodeVersion(group.client, { object });
  if (seen.state === "Gone") throw new Error("Failed to read NodeVersion: it was deleted");
  return seen;
}

/** Records in the Rollout and the ScalingGroup that the group has converged on `version`. */
function converged(group: GroupInMemory): GroupInMemory {
  reported(group, { phase: "Converged", targetTemplateHash: hashOf(version) });
  const { metadata } = group.kube.get("scalinggroups", "workers") ?? {};
  if (metadata) metadata.annotations = { "ostler.dev/boots": JSON.stringify({ ...version, template: "t" }) };
  return group;
}

function reported(group: GroupInMemory, status: object): GroupInMemory {
  const { namespace, name } = pool;
  group.kube.put("rollouts", { metadata: { namespace, name }, status });
  return group;
}

function nodeOf({ kube }: GroupInMemory, name: string): Stored {
  const node = kube.get("nodes", name);
  if (!node) throw new Error(`Failed to use node "${name}": it does not exist`);
  return node;
}

/** Returns the observed state that a rollout of the group records when it has read the current objects. */
function observedIn({ kube }: GroupInMemory): string {
  const [group, version] = [kube.get("scalinggroups", "workers"), kube.get("nodeversions", "v")];
  if (!group || !version) throw new Error("Failed to read the group: it does not exist");
  return observedOf(ScalingGroup.parse(group), NodeVersion.parse(version));
}

Deno.test("B9 survey: a NodeVersion is settled when all nodes run it, and all ScalingGroups have recorded it", async () => {
  const { isSettled, says, stages } = await look(converged(new GroupInMemory()));
  deepEqual([isSettled, says, stages.Workers.done], [true, "All 3 nodes are up to date", 1]);
});

Deno.test("survey: a NodeVersion is not settled while a ScalingGroup boots new nodes with another image, even if all nodes run the NodeVersion", async () => {
  equal((await look(new GroupInMemory())).isSettled, false);
});

Deno.test("survey: a ScalingGroup is not done before its annotations record the version, even if its rollout has converged", async () => {
  const group = converged(new GroupInMemory());
  const { metadata } = group.kube.get("scalinggroups", "workers") ?? {};
  if (metadata) metadata.annotations = {};
  const { isSettled, stages } = await look(group);
  deepEqual([isSettled, stages.Workers.done], [false, 0]);
});

const standings: [what: string, status: object, atRest: number, moving: number, told: "halted" | "waiting" | ""][] = [
  ["has a rollout in progress, as moving", { phase: "Rolling", reason: "Draining" }, 0, 1, ""],
  ["halted", { phase: "Halted", reason: "SetAside" }, 1, 0, "halted"],
  ["is paused, as halted", { phase: "Rolling", reason: "Paused" }, 1, 0, "halted"],
  ["waits for an approval, as halted", { phase: "Rolling", reason: "AwaitingApproval" }, 1, 0, "halted"],
  ["waits for its maintenance window, as waiting", { phase: "Rolling", reason: "OutsideWindow" }, 1, 0, "waiting"],
  ["repairs machines, as neither moving nor at rest", { phase: "Repairing", reason: "Repairing" }, 0, 0, ""],
];

for (const [what, status, atRest, moving, told] of standings) {
  Deno.test(`K24 survey: reports a group that ${what}`, async () => {
    const group = new GroupInMemory();
    const { stages: { Workers } } = await look(reported(group, { ...status, observed: observedIn(group) }));
    deepEqual([Workers.atRest, Workers.moving], [atRest, moving]);
    deepEqual([Workers.halted.length, Workers.waiting?.length], [
      Number(told === "halted"),
      Number(told === "waiting"),
    ]);
  });
}

Deno.test("K24 survey: a group that halted with an earlier target does not count as at rest before its rollout reads the new target", async () => {
  const group = new GroupInMemory();
  reported(group, { phase: "Halted", reason: "Quarantined", observed: observedIn(group) });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const { stages: { Workers } } = await look(group);
  deepEqual([Workers.atRest, Workers.halted], [0, []]);
});

Deno.test("survey: names a remaining PendingNode without an instance when all groups are done", async () => {
  const group = converged(new GroupInMemory());
  const spec = { providerID: "sim:///a/none", groupID: "projects/p/groups/workers", goal: "Join" };
  const metadata = { name: "left", finalizers: ["ostler.dev/pending-node"], annotations: {} };
  group.kube.put("pendingnodes", { metadata, spec });
  const { isSettled, says } = await look(group);
  deepEqual([isSettled, says], [false, 'Nodes not up to date: 1 joining: PendingNode "left"']);
});

Deno.test("K24 survey: reports no release after ensureReleaseEnded, however often that is called", async () => {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  for (const time of ["first", "again"]) {
    await ensureReleaseEnded(group.client, { object });
    equal((await look(group)).released, null, time);
  }
  await ensureReleaseEnded(group.client, { object: { name: "none" } });
});

Deno.test("survey: N1 annotates a node without annotations with the image and group of its instance; N2 keeps existing annotations", async () => {
  const group = new GroupInMemory();
  nodeOf(group, "workers-1").metadata.annotations = {};
  nodeOf(group, "workers-2").metadata.annotations = { [image]: "mine", [groupId]: "projects/p/groups/workers" };
  await look(group);
  const marked = (name: string): unknown[] => {
    const { annotations = {} } = nodeOf(group, name).metadata;
    return [annotations[image], annotations[groupId]];
  };
  deepEqual(marked("workers-1"), ["image-1", "projects/p/groups/workers"]);
  deepEqual(marked("workers-2"), ["mine", "projects/p/groups/workers"]);
});

Deno.test("N3, K26, B12 survey: names a node without a provider ID, and the NodeVersion is not settled", async () => {
  const group = converged(new GroupInMemory());
  (nodeOf(group, "workers-1")["spec"] as Record<string, unknown>)["providerID"] = "";
  const { isSettled, says } = await look(group);
  deepEqual([isSettled, says.includes('"workers-1"')], [false, true]);
});

Deno.test("N6 survey: fails and is retried when a node cannot be written", async () => {
  const group = new GroupInMemory();
  nodeOf(group, "workers-1").metadata.annotations = {};
  group.kube.onRequest = (request) => {
    if (request === "patch nodes workers-1") throw answer(500, "InternalError");
  };
  await look(group).then(
    () => Promise.reject(new Error("Expected a failure")),
    ({ type }: { type?: string }) => equal(type, "ApiUnavailable"),
  );
});

Deno.test("N4, N5, R1 survey: fails and is retried when the cloud or the API server does not respond", async () => {
  const failing: [what: string, befall: (group: GroupInMemory) => Promise<unknown>][] = [
    ["instances with their groups and images", (group) => breakCloud(group, "instances")],
    ["the groups", (group) => breakCloud(group, "group")],
    ["nodes", (group) => {
      group.kube.onRequest = (request) => {
        if (request.startsWith("list nodes")) throw answer(500, "InternalError");
      };
      return Promise.resolve();
    }],
  ];
  for (const [what, befall] of failing) {
    const group = converged(new GroupInMemory());
    nodeOf(group, "workers-1").metadata.annotations = {};
    await befall(group);
    await rejects(look(group), { type: "ApiUnavailable" }, what);
  }
});

Deno.test("D4 survey: is retried when a machine that joins late cannot be deleted, and keeps its PendingNode", async () => {
  const group = converged(new GroupInMemory());
  group.kube.remove("nodes", "workers-3");
  const spec = { providerID: "sim:///a/workers-3", groupID: "projects/p/groups/workers", nodeName: "n", goal: "Join" };
  const record = { spec: { ...spec, deadline: "2026-01-01T00:00:00Z" }, status: { cspState: "Creating" } };
  group.kube.put("pendingnodes", { metadata: { name: "n" }, ...record });
  const restore = await breakCloud(group, "remove");
  await rejects(look(group), { type: "ApiUnavailable" });
  equal((group.kube.get("pendingnodes", "n")?.["spec"] as { goal: string }).goal, "Join");
  restore();
  await look(group);
  equal((group.kube.get("pendingnodes", "n")?.["spec"] as { goal: string }).goal, "Leave");
});

/** Makes a call of the cloud fail until the returned function is called. */
async function breakCloud(group: GroupInMemory, call: "instances" | "group" | "remove"): Promise<() => void> {
  const driver = await group.driver();
  const fail = (): never => {
    throw unavailable(`Failed to ask the cloud for "${call}": it does not answer`);
  };
  useCloud(group.client, () => Promise.resolve({ ...driver, [call]: fail }));
  return () => useCloud(group.client, () => Promise.resolve(driver));
}

Deno.test("survey: ignores nodes without a group", async () => {
  const group = converged(new GroupInMemory());
  group.kube.put("nodes", { metadata: { name: "other" }, spec: { providerID: "kubevirt://other" } });
  group.kube.put("nodes", { metadata: { name: "bare" }, spec: {} });
  equal((await look(group)).isSettled, true);
});

Deno.test("G1, B1 survey: counts outdated nodes, and names the nodes in the status", async () => {
  const group = converged(new GroupInMemory());
  group.ask(next);
  const { isSettled, stages, digest } = await look(group);
  deepEqual([isSettled, stages.Workers.outdated, stages.Workers.skewed, digest], [false, 3, 3, hashOf(next)]);
  const status = group.kube.get("nodeversions", "v")?.["status"] as { outdated: { name: string }[] };
  deepEqual(status.outdated.map(({ name }) => name), ["workers-1", "workers-2", "workers-3"]);
});

Deno.test("K23 survey: a NodeVersion is settled although a group of control planes has not recorded the version, because only stage ControlPlane counts that group", async () => {
  const group = new GroupInMemory({ role: "ControlPlane" });
  const { isSettled, stages: { ControlPlane }, says } = await look(group);
  deepEqual([isSettled, ControlPlane.groups, ControlPlane.done, ControlPlane.outdated], [true, 1, 0, 0]);
  equal(says, "All 3 nodes are up to date");
  const settled = converged(group);
  deepEqual((await look(settled)).stages.ControlPlane.done, 1);
});

Deno.test("K5, K23 survey: counts a joining control plane without annotations separately from nodes with other components", async () => {
  const group = new GroupInMemory({ role: "ControlPlane" });
  for (const name of ["workers-1", "workers-2"]) {
    delete nodeOf(group, name).metadata.annotations?.["constellation.edgeless.systems/kubernetes-components"];
  }
  const spec = { providerID: "SIM:///a/workers-1", groupID: "projects/p/groups/workers", goal: "Join" };
  const metadata = { name: "n", finalizers: ["ostler.dev/pending-node"], annotations: {} };
  group.kube.put("pendingnodes", { metadata, spec });
  const { stages: { ControlPlane }, says } = await look(group);
  deepEqual([ControlPlane.outdated, ControlPlane.skewed, ControlPlane.unannounced], [2, 2, 1]);
  equal(
    says,
    "Nodes not up to date: 2 awaiting annotation, 1 joining",
    "Expected no record to be named while the group is not done",
  );
});

Deno.test("survey: reports two ScalingGroups of one cloud group", async () => {
  const group = new GroupInMemory();
  const spec = group.kube.get("scalinggroups", "workers")?.["spec"];
  group.kube.put("scalinggroups", {
    metadata: { name: "again" },
    spec: { ...spec as object, groupId: "PROJECTS/p/groups/workers" },
  });
  equal((await look(group)).trouble?.reason, "GroupClaimedTwice");
});

Deno.test("survey: reports a group that is missing in the cloud, and a missing image", async () => {
  const group = new GroupInMemory();
  Object.assign(group.kube.get("scalinggroups", "workers")?.["spec"] ?? {}, { groupId: "none" });
  equal((await look(group)).trouble?.reason, "GroupMissing");
  group.ask({ ...version, image: "" });
  equal((await look(group)).trouble?.reason, "ImageMissing");
});

Deno.test("survey: reports a Kubernetes version whose minor version is later than that of the API server", async () => {
  const group = new GroupInMemory();
  const getCode = (): Promise<object> => Promise.resolve({ gitVersion: "v1.36.1" });
  Object.assign(group.client, { version: { getCode } });
  const troubles = [];
  for (const asked of ["v1.36.9", "v1.35.0", "", "nonsense", "v1.37.0", "v2.0.0"]) {
    Object.assign(group.kube.get("nodeversions", "v")?.["spec"] ?? {}, { kubernetesClusterVersion: asked });
    troubles.push((await look(group)).trouble?.reason);
  }
  deepEqual(troubles, [undefined, undefined, undefined, undefined, "KubernetesTooNew", "KubernetesTooNew"]);
});

Deno.test("K23 survey: nodes are outdated while the API server is older than the NodeVersion's Kubernetes", async () => {
  const group = new GroupInMemory();
  Object.assign(group.client, { version: { getCode: () => Promise.resolve({ gitVersion: "v1.36.1" }) } });
  group.ask(next);
  Object.assign(group.kube.get("nodeversions", "v")?.["spec"] ?? {}, { kubernetesClusterVersion: "v1.37.0" });
  const { trouble, isSettled, stages } = await look(group);
  deepEqual([trouble?.reason, isSettled, stages.Workers.skewed], ["KubernetesTooNew", false, 3]);
  const status = group.kube.get("nodeversions", "v")?.["status"] as { outdated: unknown[]; conditions: object[] };
  equal(status.outdated.length, 3);
  deepEqual(status.conditions.map((each) => (each as { status: string }).status)[0], "True");
});

Deno.test("fault K23 survey: refuses a newer kubelet while the API server of any control plane still has the old version", async () => {
  const group = new GroupInMemory();
  let requests = 0; // the two API servers answer in turn
  const getCode = (): Promise<object> => Promise.resolve({ gitVersion: requests++ % 2 === 0 ? "v1.36.1" : "v1.35.4" });
  Object.assign(group.client, { version: { getCode } });
  Object.assign(group.kube.get("nodeversions", "v")?.["spec"] ?? {}, { kubernetesClusterVersion: "v1.36.1" });
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  const kubelet = (kubeletVersion: string): object => ({ nodeInfo: { kubeletVersion } });
  group.kube.put("nodes", { metadata: { name: "cp-1", labels }, status: kubelet("v1.36.1") });
  group.kube.put("nodes", { metadata: { name: "cp-2", labels }, status: kubelet("v1.35.4") });
  const seen: unknown[] = [];
  const note = async (): Promise<void> => void seen.push((await look(group)).trouble?.reason);
  await note(); // cp-2 has no pod of the API server, as during a restart
  const serves = (version: string): Stored =>
    group.kube.put("pods", {
      metadata: {
        namespace: "kube-system",
        name: "kube-apiserver-cp-2",
        annotations: { "kubernetes.io/config.mirror": "x" },
      },
      spec: {
        nodeName: "cp-2",
        containers: [{ name: "kube-apiserver", image: `r.example/kube-apiserver:${version}` }],
      },
    });
  serves("v1.35.4");
  await note();
  const { trouble, fingerprint } = await look(group);
  equal((await look(group)).fingerprint, fingerprint);
  match(trouble?.message ?? "", /but the API server of control plane "cp-2" is "v1.35.4": a kubelet must not be newer/);
  serves("v1.36.1");
  await note();
  deepEqual(seen, ["KubernetesTooNew", "KubernetesTooNew", undefined]);
});

Deno.test("survey: reports whether Kubernetes can be upgraded, but only in an Ostler worker whose setting hands-image is set", async () => {
  const group = new GroupInMemory();
  const { client } = group;
  const look = async (hasHands: boolean): Promise<unknown> => {
    const seen = await surveyNodeVersion(client, { object: { name: "v" } }, { hasHands });
    return seen.state === "Present" && [seen.upgrade, seen.fingerprint];
  };
  const [[without], [possible, before]] = [await look(false), await look(true)] as [unknown[], unknown[]];
  deepEqual([without, possible], [undefined, { state: "Possible", says: "" }]);
  const told = { type: "KubernetesUpgraded", status: "False", reason: "AwaitingApproval", message: "approve it" };
  Object.assign(group.kube.get("nodeversions", "v") ?? {}, { status: { conditions: [told] } });
  const [said, after] = await look(true) as unknown[];
  deepEqual([said, before === after], [{ state: "Possible", says: "approve it" }, false]);
});

Deno.test("fault K23 survey: shortens the message of an upgrade to 2,000 characters, whatever the status contains", async () => {
  const group = new GroupInMemory();
  const told = { type: "KubernetesUpgraded", status: "False", reason: "r", message: "m".repeat(32_768) };
  Object.assign(group.kube.get("nodeversions", "v") ?? {}, { status: { conditions: [told] } });
  const seen = await surveyNodeVersion(group.client, { object }, { hasHands: true });
  equal(seen.state === "Present" && seen.upgrade?.says.length, 2_000);
});

Deno.test("fault K23 survey: returns the same fingerprint whether or not setting hands-image is set, so that Ostler's workers with different settings do not end each other's waits", async () => {
  const { client } = new GroupInMemory();
  const look = async (hasHands: boolean): Promise<VersionSurvey> =>
    await surveyNodeVersion(client, { object }, { hasHands });
  const [without, having] = [await look(false), await look(true)];
  deepEqual("fingerprint" in without && "fingerprint" in having && without.fingerprint === having.fingerprint, true);
});

Deno.test("K3, B11 survey: a NodeVersion is not settled while an old node names a new node that has vanished", async () => {
  const group = converged(new GroupInMemory());
  const { annotations = {} } = nodeOf(group, "workers-1").metadata;
  Object.assign(annotations, { [image]: "old", "constellation.edgeless.systems/heir": "gone" });
  equal((await look(group)).isSettled, false);
});

Deno.test("K4, K7 survey: completes a PendingNode of the Constellation operator: deletes its late machine, then the PendingNode", async () => {
  const group = converged(new GroupInMemory());
  const spec = {
    providerID: "sim:///a/workers-3",
    groupID: "projects/p/groups/workers",
    nodeName: "none",
    goal: "Join",
  };
  const record = {
    metadata: { name: "none" },
    spec: { ...spec, deadline: "2026-01-01T00:00:00Z" },
    status: { cspState: "Creating" },
  };
  group.kube.put("pendingnodes", record);
  // The instance of the record never joined.
  group.kube.remove("nodes", "workers-3");
  equal((await look(group)).isSettled, false);
  deepEqual([group.cloud.instance("sim:///a/workers-3")?.state, group.cloud.group("projects/p/groups/workers")?.size], [
    "Terminating",
    2,
  ]);
  group.settle();
  await look(group);
  equal(group.kube.all("pendingnodes").length, 0);
});

const forged: [what: string, change: (group: GroupInMemory) => void][] = [
  ["serves", () => {}],
  ["is protected in its cloud", (group) => {
    group.kube.remove("nodes", "workers-3");
    group.cloud.set("sim:///a/workers-3", { isProtected: true });
  }],
  ["belongs to a control plane", (group) => {
    group.kube.remove("nodes", "workers-3");
    const [stored] = group.kube.all("scalinggroups") as unknown as { spec: { role: string } }[];
    if (stored) stored.spec.role = "ControlPlane";
  }],
];

for (const [what, change] of forged) {
  Deno.test(`survey: a PendingNode without Ostler's finalizer deletes no machine that ${what}`, async () => {
    const group = converged(new GroupInMemory());
    change(group);
    const spec = {
      providerID: "sim:///a/workers-3",
      groupID: "projects/p/groups/workers",
      nodeName: "n",
      goal: "Leave",
    };
    group.kube.put("pendingnodes", { metadata: { name: "n" }, spec });
    equal((await look(group)).isSettled, false);
    equal(group.cloud.instance("sim:///a/workers-3")?.state, "Ready");
  });
}
