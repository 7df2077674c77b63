/** K22, K23: wherever Ostler's worker dies during an upgrade of Kubernetes, the final cluster is the same. */
import assert from "node:assert/strict";
import { machineTest } from "../machines/real_machines.ts";
import { upgrades } from "./kubernetes_upgrade_story.ts";
import { withOldKubernetes } from "./kubernetes_upgrade_world.ts";
import { StepKiller } from "./step_killer.ts";

const upgrade = "upgrade-kubernetes/constellation-version";

machineTest("K22, K23 control planes: take the next Kubernetes while the worker is killed at every step", async () => {
  await withOldKubernetes(async (scene) => {
    await using killer = new StepKiller(scene.world, {
      workflowIds: [upgrade, "node-version/constellation-version", "scaling-group/control", "scaling-group/workers"],
      // The first word of a summary is the verb of an order: the first control plane gets "Apply" where others get
      // "Node".
      nameOf: (id, activity, summary) => `${id} ${activity} ${summary.split(" ")[0]}`,
    });
    await upgrades(scene);
    const steps = [...killer.killedAt];
    for (const verb of ["Plan", "Fetch", "Apply", "Node", "Kubelet", "Cordon", "Announce", "Uncordon"]) {
      assert.ok(steps.some((step) => step.includes(verb)), `Expected the worker to be killed at "${verb}": ${steps}`);
    }
    assert.ok(steps.length >= 30, `Saw ${steps.length} kills: ${steps.join("; ")}`);
  });
});
