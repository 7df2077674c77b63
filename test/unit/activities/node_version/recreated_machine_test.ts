/** A cloud can recreate a machine under its name, with another image; its Node keeps the previous annotations. */
import { deepEqual } from "node:assert/strict";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { GroupInMemory, next, pool, spec, version } from "../../../support/group_in_memory.ts";

const prefix = "constellation.edgeless.systems";

/** Returns a group on `version`, with the given phase, in which the Node of one machine names image "image-0". */
function recreated(phase: string): { group: GroupInMemory; imageOf: () => string | undefined } {
  const group = new GroupInMemory();
  const { namespace, name } = pool;
  const status = { phase, targetTemplateHash: hashOf(version) };
  group.kube.put("rollouts", { metadata: { namespace, name }, status });
  const { metadata } = group.kube.get("scalinggroups", "workers") ?? {};
  if (metadata) metadata.annotations = { "ostler.dev/boots": JSON.stringify({ ...version, template: "t" }) };
  const annotations = { [`${prefix}/scaling-group-id`]: spec.id };
  for (const { providerId } of group.cloud.instances()) group.join(providerId, version, { annotations });
  const node = group.kube.get("nodes", "workers-1");
  Object.assign(node?.metadata.annotations ?? {}, { [`${prefix}/node-image`]: "image-0" });
  return { group, imageOf: () => group.kube.get("nodes", "workers-1")?.metadata.annotations?.[`${prefix}/node-image`] };
}

async function look({ client }: GroupInMemory): Promise<unknown[]> {
  const seen = await surveyNodeVersion(client, { object: { name: "v" } });
  return seen.state === "Gone" ? [] : [seen.isSettled, seen.says];
}

Deno.test("survey: a machine that the cloud has recreated with the desired image counts as up to date, although its Node names the previous image", async () => {
  const { group, imageOf } = recreated("Converged");
  deepEqual(await look(group), [true, "All 3 nodes are up to date"]);
  deepEqual(imageOf(), version.image);
});

Deno.test("survey: the Node of a machine keeps its image while the machine boots another image than the desired one", async () => {
  const { group, imageOf } = recreated("Converged");
  group.ask(next);
  deepEqual((await look(group))[0], false);
  deepEqual(imageOf(), "image-0");
});

Deno.test("survey: does not read the instances of a group in which a rollout is in progress", async () => {
  const { group, imageOf } = recreated("Rolling");
  deepEqual((await look(group))[0], false);
  deepEqual(imageOf(), "image-0");
});
