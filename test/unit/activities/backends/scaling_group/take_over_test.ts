/** Replacements that the Constellation node operator left half done keep the size of their group. */
import { deepEqual, equal } from "node:assert/strict";
import { surveyNodeVersion } from "../../../../../activities/backends/scaling_group/version_survey.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { GroupStage, next, pool, spec, version } from "../../../../support/group_stage.ts";

const prefix = "constellation.edgeless.systems";

/** A group that boots the next version, whose fourth machine was ordered to replace the first. */
function half({ image = next } = {}): { stage: GroupStage; heir: { providerId: string; node: string } } {
  const stage = new GroupStage();
  const inCloud = stage.cloud.group(spec.id);
  if (!inCloud) throw new Error("Failed to set up the group: it does not exist");
  stage.cloud.useTemplate(
    inCloud,
    stage.cloud.addTemplate(inCloud, { ...inCloud.boots.fields, image: image.image }).id,
  );
  stage.cloud.resize(inCloud, 4);
  for (const { metadata } of stage.kube.all("nodes")) {
    metadata.annotations = { ...metadata.annotations, [`${prefix}/scaling-group-id`]: spec.id };
  }
  const heir = stage.cloud.instances().at(-1) ?? { providerId: "", node: "" };
  const annotations = { [`${prefix}/scaling-group-id`]: spec.id };
  stage.join(heir.providerId, image, { annotations });
  stage.ask(next, { stage: "Workers", digest: hashOf(next) });
  return { stage, heir };
}

function mark({ kube }: GroupStage, node: string, annotations: Record<string, string>): void {
  const found = kube.get("nodes", node)?.metadata;
  if (found) found.annotations = { ...found.annotations, ...annotations };
}

async function look({ client }: GroupStage): Promise<void> {
  await surveyNodeVersion(client, { object: { name: "v" } });
}

async function wanted({ backend }: GroupStage): Promise<number> {
  const seen = await backend.wanted(pool, { profileNamespace: "" });
  return seen.state === "Present" ? seen.desired.replicas : 0;
}

/** A record of the operator; it names only the instance. */
function minted(stage: GroupStage, { providerId, node }: { providerId: string; node: string }): void {
  const record = { providerID: providerId, groupID: spec.id, nodeName: node, goal: "Join" };
  stage.kube.put("pendingnodes", { metadata: { name: node }, spec: record, status: { cspState: "Ready" } });
}

/** Removes a machine as a rollout does. */
async function replace(stage: GroupStage, machine: string): Promise<void> {
  await stage.backend.orders.choose({ pool, machine });
  await stage.backend.orders.release({ pool, machine });
  stage.settle();
  await stage.backend.seeOff({ pool, machine });
}

for (const how of ["both nodes are marked", "only a record names the new machine"]) {
  Deno.test(`fault G12: a group has its size again after a replacement that was half done: ${how}`, async () => {
    const { stage, heir } = half();
    if (how.startsWith("both")) {
      mark(stage, "workers-1", { [`${prefix}/heir`]: heir.node });
      mark(stage, heir.node, { [`${prefix}/donor`]: "workers-1" });
    } else minted(stage, heir);
    for (let nth = 0; nth < 2; nth++) await look(stage);
    equal(await wanted(stage), 3);
    const [record, ...others] = stage.kube.all("pendingnodes");
    deepEqual([others, record?.metadata.annotations?.["ostler.dev/donor"]], [[], "workers-1"]);
    const { members } = await stage.backend.observe(pool);
    const phases = Object.fromEntries(members.map(({ id, phase, marked }) => [id, `${phase} ${marked}`]));
    deepEqual([phases["workers-1"], phases["workers-4"]], ["Ready true", "Joining false"]);
    await stage.backend.welcome({ pool, machine: "workers-4" });
    await replace(stage, "workers-1");
    deepEqual([await wanted(stage), stage.cloud.group(spec.id)?.size, stage.kube.all("pendingnodes")], [3, 3, []]);
    await look(stage);
    const marks = Object.keys(stage.kube.get("nodes", heir.node)?.metadata.annotations ?? {});
    equal(marks.some((key) => key === `${prefix}/donor`), false);
  });
}

Deno.test("fault G12: a pair of an older version is taken over too, and both machines are outdated", async () => {
  const { stage, heir } = half({ image: { image: "image-1b", components: "components-1" } });
  mark(stage, "workers-1", { [`${prefix}/heir`]: heir.node });
  mark(stage, heir.node, { [`${prefix}/donor`]: "workers-1" });
  await look(stage);
  equal(await wanted(stage), 3);
});

Deno.test("fault G12: marks whose partner is gone are removed, and nothing is taken over", async () => {
  const { stage, heir } = half();
  mark(stage, "workers-1", { [`${prefix}/heir`]: "gone" });
  mark(stage, heir.node, { [`${prefix}/donor`]: "gone" });
  await look(stage);
  const marks = ["workers-1", heir.node].flatMap((node) =>
    Object.keys(stage.kube.get("nodes", node)?.metadata.annotations ?? {})
  );
  deepEqual(marks.filter((key) => [`${prefix}/heir`, `${prefix}/donor`].includes(key)), []);
  deepEqual([await wanted(stage), stage.kube.all("pendingnodes")], [4, []]);
});

Deno.test("fault G12: control planes are not taken over", async () => {
  const { stage, heir } = half();
  const group = stage.kube.get("scalinggroups", "workers")?.["spec"];
  Object.assign(group as object, { role: "ControlPlane" });
  mark(stage, "workers-1", { [`${prefix}/heir`]: heir.node });
  mark(stage, heir.node, { [`${prefix}/donor`]: "workers-1" });
  await look(stage);
  deepEqual(stage.kube.all("pendingnodes"), []);
});

Deno.test("fault G12: an obsolete machine counts as one too many, and is removed with its place", async () => {
  const { stage, heir } = half();
  mark(stage, heir.node, { [`${prefix}/obsolete`]: "true" });
  equal(await wanted(stage), 3);
  const { members, templateHash } = await stage.backend.observe(pool);
  const obsolete = members.find(({ id }) => id === "workers-4");
  deepEqual([obsolete?.phase, obsolete?.templateHash === templateHash], ["Ready", false]);
  await replace(stage, "workers-4");
  deepEqual([await wanted(stage), stage.cloud.group(spec.id)?.size], [3, 3]);
});

Deno.test("fault G12: a new machine replaces another one than the obsolete one, which has no place", async () => {
  const { stage, heir } = half();
  mark(stage, heir.node, { [`${prefix}/obsolete`]: "true" });
  const machine = "workers-new-1";
  await stage.backend.orders.admit({ pool, machine, victim: "workers-4" });
  equal(stage.kube.get("pendingnodes", machine)?.metadata.annotations?.["ostler.dev/donor"], "workers-1");
  equal(await wanted(stage), 3);
  const ordered = stage.cloud.instances().at(-1);
  stage.join(ordered?.providerId ?? "", next);
  await stage.backend.welcome({ pool, machine });
  for (const left of ["workers-4", "workers-1"]) {
    await replace(stage, left);
    equal(await wanted(stage), 3);
  }
  deepEqual([stage.cloud.group(spec.id)?.size, stage.kube.all("pendingnodes")], [3, []]);
});

Deno.test("fault G12: nodes that mark themselves obsolete do not shrink a group below its minimum, nor together", async () => {
  const stage = new GroupStage({ min: 3 });
  stage.ask(version, { stage: "Workers", digest: hashOf(version) });
  for (const name of ["workers-1", "workers-2"]) mark(stage, name, { [`${prefix}/obsolete`]: "true" });
  equal(await wanted(stage), 3);
  const inCloud = stage.cloud.group(spec.id);
  if (inCloud) inCloud.min = 1;
  equal(await wanted(stage), 2);
});
