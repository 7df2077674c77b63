/** Replacements that the Constellation node operator left half done keep the size of their group. */
import { deepEqual, equal } from "node:assert/strict";
import { surveyNodeVersion } from "../../../../../activities/backends/scaling_group/version_survey.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { refused } from "../../../../../activities/failures.ts";
import { directCloud, GroupInMemory, next, pool, spec, version } from "../../../../support/group_in_memory.ts";
import { useCloud } from "../../../../support/staged_cluster.ts";

const prefix = "constellation.edgeless.systems";

/** Returns a group that boots the next version; its fourth machine was ordered to replace its first machine. */
function half({ image = next } = {}): { group: GroupInMemory; heir: { providerId: string; node: string } } {
  const group = new GroupInMemory();
  const inCloud = group.cloud.group(spec.id);
  if (!inCloud) throw new Error("Failed to set up the group: it does not exist");
  group.cloud.useTemplate(
    inCloud,
    group.cloud.addTemplate(inCloud, { ...inCloud.boots.fields, image: image.image }).id,
  );
  group.cloud.resize(inCloud, 4);
  for (const { metadata } of group.kube.all("nodes")) {
    metadata.annotations = { ...metadata.annotations, [`${prefix}/scaling-group-id`]: spec.id };
  }
  const heir = group.cloud.instances().at(-1) ?? { providerId: "", node: "" };
  const annotations = { [`${prefix}/scaling-group-id`]: spec.id };
  group.join(heir.providerId, image, { annotations });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  return { group, heir };
}

function mark({ kube }: GroupInMemory, node: string, annotations: Record<string, string>): void {
  const found = kube.get("nodes", node)?.metadata;
  if (found) found.annotations = { ...found.annotations, ...annotations };
}

async function look({ client }: GroupInMemory): Promise<void> {
  await surveyNodeVersion(client, { object: { name: "v" } });
}

async function wanted({ backend }: GroupInMemory): Promise<number> {
  const seen = await backend.wanted(pool, { profileNamespace: "" });
  return seen.state === "Present" ? seen.desired.replicas : 0;
}

/**
 * Adds a PendingNode as the Constellation node operator writes it: with the new instance, but without the old machine.
 */
function minted(group: GroupInMemory, { providerId, node }: { providerId: string; node: string }): void {
  const record = { providerID: providerId, groupID: spec.id, nodeName: node, goal: "Join" };
  group.kube.put("pendingnodes", { metadata: { name: node }, spec: record, status: { cspState: "Ready" } });
}

const troubles: [what: string, begin: (group: GroupInMemory) => void, end: (group: GroupInMemory) => void][] = [
  ["the cloud refuses to answer", ({ client }) => {
    useCloud(client, () => Promise.reject(refused("CloudRefused", "Failed to open the cloud: refused")));
  }, ({ client, cloud }) => useCloud(client, () => Promise.resolve(directCloud(cloud)))],
  ["the NodeVersion does not name an image", (group) => {
    group.ask({ ...next, image: "" });
  }, (group) => group.ask(next, { stage: "Workers", digest: hashOf(next) })],
  ["the API server is older than the NodeVersion", ({ kube }) => {
    Object.assign(kube.get("nodeversions", "v")?.["spec"] ?? {}, { kubernetesClusterVersion: "v1.99.0" });
  }, (group) => group.ask(next, { stage: "Workers", digest: hashOf(next) })],
  ["two nodes have the provider ID of one machine", ({ kube }) => {
    const node = kube.get("nodes", "workers-2");
    if (node) kube.put("nodes", { ...node, metadata: { ...node.metadata, name: "twin", uid: "twin" } });
  }, ({ kube }) => kube.remove("nodes", "twin")],
];

for (const [what, begin, end] of troubles) {
  Deno.test(`fault G12: a replacement that another operator left half done is taken over after a time in which ${what}`, async () => {
    const { group, heir } = half();
    minted(group, heir);
    begin(group);
    for (let nth = 0; nth < 2; nth++) await look(group);
    deepEqual(group.kube.all("pendingnodes").map(({ metadata: { name } }) => name), [heir.node]);
    end(group);
    for (let nth = 0; nth < 2; nth++) await look(group);
    equal(await wanted(group), 3);
  });
}

/** Removes a machine as a rollout does. */
async function replace(group: GroupInMemory, machine: string): Promise<void> {
  await group.backend.orders.choose({ pool, machine });
  await group.backend.orders.release({ pool, machine });
  group.settle();
  await group.backend.seeOff({ pool, machine });
}

for (const how of ["both nodes are marked", "only a record names the new machine"]) {
  Deno.test(`fault G12: a group returns to its size after a replacement that another operator left half done: ${how}`, async () => {
    const { group, heir } = half();
    if (how.startsWith("both")) {
      mark(group, "workers-1", { [`${prefix}/heir`]: heir.node });
      mark(group, heir.node, { [`${prefix}/donor`]: "workers-1" });
    } else minted(group, heir);
    for (let nth = 0; nth < 2; nth++) await look(group);
    equal(await wanted(group), 3);
    const [record, ...others] = group.kube.all("pendingnodes");
    deepEqual([others, record?.metadata.annotations?.["ostler.dev/donor"]], [[], "workers-1"]);
    const { members } = await group.backend.observe(pool);
    const phases = Object.fromEntries(members.map(({ id, phase, marked }) => [id, `${phase} ${marked}`]));
    deepEqual([phases["workers-1"], phases["workers-4"]], ["Ready true", "Joining false"]);
    await group.backend.welcome({ pool, machine: "workers-4" });
    await replace(group, "workers-1");
    deepEqual([await wanted(group), group.cloud.group(spec.id)?.size, group.kube.all("pendingnodes")], [3, 3, []]);
    await look(group);
    const marks = Object.keys(group.kube.get("nodes", heir.node)?.metadata.annotations ?? {});
    equal(marks.some((key) => key === `${prefix}/donor`), false);
  });
}

Deno.test("fault G12: an old and a new machine that another operator left half replaced are taken over, even if both are outdated", async () => {
  const { group, heir } = half({ image: { image: "image-1b", components: "components-1" } });
  mark(group, "workers-1", { [`${prefix}/heir`]: heir.node });
  mark(group, heir.node, { [`${prefix}/donor`]: "workers-1" });
  await look(group);
  equal(await wanted(group), 3);
});

Deno.test("fault G12: annotations that name a node that does not exist are removed, and nothing is taken over", async () => {
  const { group, heir } = half();
  mark(group, "workers-1", { [`${prefix}/heir`]: "gone" });
  mark(group, heir.node, { [`${prefix}/donor`]: "gone" });
  await look(group);
  const marks = ["workers-1", heir.node].flatMap((node) =>
    Object.keys(group.kube.get("nodes", node)?.metadata.annotations ?? {})
  );
  deepEqual(marks.filter((key) => [`${prefix}/heir`, `${prefix}/donor`].includes(key)), []);
  deepEqual([await wanted(group), group.kube.all("pendingnodes")], [4, []]);
});

Deno.test("fault G12: a half-done replacement of a control plane is not taken over", async () => {
  const { group, heir } = half();
  const stored = group.kube.get("scalinggroups", "workers")?.["spec"];
  Object.assign(stored as object, { role: "ControlPlane" });
  mark(group, "workers-1", { [`${prefix}/heir`]: heir.node });
  mark(group, heir.node, { [`${prefix}/donor`]: "workers-1" });
  await look(group);
  deepEqual(group.kube.all("pendingnodes"), []);
});

Deno.test("fault G12: an obsolete machine counts as surplus, and its removal makes the group smaller by one machine", async () => {
  const { group, heir } = half();
  mark(group, heir.node, { [`${prefix}/obsolete`]: "true" });
  equal(await wanted(group), 3);
  const { members, templateHash } = await group.backend.observe(pool);
  const obsolete = members.find(({ id }) => id === "workers-4");
  deepEqual([obsolete?.phase, obsolete?.templateHash === templateHash], ["Ready", false]);
  await replace(group, "workers-4");
  deepEqual([await wanted(group), group.cloud.group(spec.id)?.size], [3, 3]);
});

Deno.test("fault G12: an order to replace the obsolete machine replaces another machine instead, because the obsolete machine counts as surplus", async () => {
  const { group, heir } = half();
  mark(group, heir.node, { [`${prefix}/obsolete`]: "true" });
  const machine = "workers-new-1";
  await group.backend.orders.admit({ pool, machine, victim: "workers-4" });
  equal(group.kube.get("pendingnodes", machine)?.metadata.annotations?.["ostler.dev/donor"], "workers-1");
  equal(await wanted(group), 3);
  const ordered = group.cloud.instances().at(-1);
  group.join(ordered?.providerId ?? "", next);
  await group.backend.welcome({ pool, machine });
  for (const left of ["workers-4", "workers-1"]) {
    await replace(group, left);
    equal(await wanted(group), 3);
  }
  deepEqual([group.cloud.group(spec.id)?.size, group.kube.all("pendingnodes")], [3, []]);
});

Deno.test("fault G12: nodes that mark themselves obsolete never shrink a group below its minimum, also when there are several", async () => {
  const group = new GroupInMemory({ min: 3 });
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  for (const name of ["workers-1", "workers-2"]) mark(group, name, { [`${prefix}/obsolete`]: "true" });
  equal(await wanted(group), 3);
  const inCloud = group.cloud.group(spec.id);
  if (inCloud) inCloud.min = 1;
  equal(await wanted(group), 2);
});
