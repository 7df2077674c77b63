/** A kubelet may write any annotation into its own Node, also the group of control planes. */
import { deepEqual } from "node:assert/strict";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { GroupInMemory, pool, spec, version } from "../../../support/group_in_memory.ts";

const prefix = "constellation.edgeless.systems";

Deno.test("survey: a worker that names a group of control planes in its own Node does not count as a control plane", async () => {
  const group = new GroupInMemory({ role: "ControlPlane" });
  const { namespace, name } = pool;
  const status = { phase: "Converged", targetTemplateHash: hashOf(version) };
  group.kube.put("rollouts", { metadata: { namespace, name }, status });
  const { metadata } = group.kube.get("scalinggroups", "workers") ?? {};
  if (metadata) metadata.annotations = { "ostler.dev/boots": JSON.stringify({ ...version, template: "t" }) };
  const annotations = { [`${prefix}/scaling-group-id`]: spec.id, [`${prefix}/node-image`]: "image-0" };
  for (const [node, providerID] of [["hostile", "sim:///b/hostile"], ["bare", ""]] as const) {
    group.kube.put("nodes", { metadata: { name: node, annotations }, spec: { providerID } });
  }
  const seen = await surveyNodeVersion(group.client, { object: { name: "v" } });
  if (seen.state === "Gone") throw new Error("Failed to read NodeVersion: it was deleted");
  const { isSettled, stages: { ControlPlane } } = seen;
  deepEqual([isSettled, ControlPlane.done, ControlPlane.outdated, ControlPlane.skewed], [false, 1, 0, 0]);
});
