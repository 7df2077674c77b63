/** How groups of control planes or workers react when the released stage of a NodeVersion changes or is removed. */
import { deepEqual, equal } from "node:assert/strict";
import { readGroupWanted } from "../../../../activities/backends/scaling_group/boots.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import type { Desired, StageSurvey, VersionStage } from "../../../../workflows/contracts/mod.ts";
import { GroupInMemory, next, pool, version } from "../../../support/group_in_memory.ts";

/**
 * Returns a group of control planes or workers whose nodes run `version`, and whose new machines boot `next`, because
 * `next` was released to the stage of the group.
 */
async function begun(stage: VersionStage): Promise<GroupInMemory> {
  const group = new GroupInMemory({ role: stage === "ControlPlane" ? "ControlPlane" : "Worker" });
  for (const target of [version, next]) {
    group.ask(target, { stage, digest: hashOf(target) });
    await group.backend.boots?.publish({ pool, revision: "" });
  }
  return group;
}

async function stageOf(group: GroupInMemory, stage: VersionStage): Promise<StageSurvey> {
  const seen = await surveyNodeVersion(group.client, { object: { name: "v" } });
  if (seen.state === "Gone") throw new Error("Failed to read NodeVersion: it was deleted");
  return seen.stages[stage];
}

Deno.test("K23 release: a completed group of control planes stays complete when stage Workers is released, and when the release ends", async () => {
  const group = await begun("ControlPlane");
  const status = { phase: "Converged", targetTemplateHash: hashOf(next) };
  group.kube.put("rollouts", { metadata: { namespace: pool.namespace, name: pool.name }, status });
  const seen = new Set<string | undefined>();
  for (const stage of ["ControlPlane", "Workers", undefined] as const) {
    group.ask(next, stage && { stage, digest: hashOf(next) });
    const { templateHash, observed } = await wanted(group);
    seen.add(observed);
    deepEqual([templateHash, (await stageOf(group, "ControlPlane")).done], [hashOf(next), 1], stage);
  }
  equal(seen.size, 1, "Expected the same observed state for each release");
});

Deno.test("K23 release: workers whose rollout began continue when stage ControlPlane is released again, and other workers do not begin", async () => {
  const [group, other] = [await begun("Workers"), new GroupInMemory()];
  other.ask(version, { stage: "Workers", digest: hashOf(version) });
  await other.backend.boots?.publish({ pool, revision: "" });
  const targets = [];
  for (const each of [group, other]) {
    each.ask(next, { stage: "ControlPlane", digest: hashOf(next) });
    targets.push((await each.backend.observe(pool)).templateHash);
  }
  deepEqual(targets, [hashOf(next), hashOf(version)]);
});

async function wanted({ client }: GroupInMemory): Promise<Desired> {
  const seen = await readGroupWanted(client, pool);
  if (seen.state !== "Present") throw new Error(`Failed to read the desired state: the group is ${seen.state}`);
  return seen.desired;
}
