/** Clusters that others set up, and that know nothing of Ostler, are rolled without harm. */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { conditionOf } from "../support/group_story.ts";
import { amongStrangers, first, rollTo, type StrangerScene } from "../support/stranger_site.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();

const even: GroupSpec = {
  ...{ id: "eks-even", name: "even", autoscalerName: "eks-even", role: "Worker", min: 1, max: 6, size: 3 },
  ...{ zones: ["a", "b", "c"], template: { image: first.image, disk: "20G" }, rebalances: true },
};
/** One zone has two machines: the replacement of one is a third machine there, which the cloud would rebalance. */
const uneven: GroupSpec = { ...even, id: "eks-uneven", name: "uneven", autoscalerName: "eks-uneven", size: 4 };
/** A group whose machines keep a disk, which Ostler therefore refuses to roll. */
const stateful: GroupSpec = {
  ...{ ...even, id: "eks-stateful", name: "stateful", autoscalerName: "eks-stateful" },
  template: { ...even.template, statefulDisk: "data" },
};

test(
  "fault G1, G2, G13: a cluster that knows nothing of Ostler has as many machines in each zone after a rollout as before, and its autoscaler removes none",
  (stage: Stage) =>
    amongStrangers(stage, { groups: [even] }, async (scene) => {
      const release = await holdDrains(scene);
      await scene.world.ground.ask(scene.world, { ...first, image: "image-2" });
      await longerThanUnneeded(scene);
      const { conditions } = await scene.world.status("scaling-group.even") as { conditions?: object[] };
      assert.match(JSON.stringify(conditions), /"type":"AutoscalerHeld","status":"False"/);
      await release();
      await rollTo(scene, "image-2", even.size);
    }),
);

test("fault G2: the cloud does not rebalance the zones of a scaling group while Ostler rolls it", (stage: Stage) =>
  amongStrangers(stage, { groups: [uneven] }, (scene) => rollTo(scene, "image-2", uneven.size)));

test(
  "fault G1, G2, G13: a scaling group that cannot be rolled safely is refused before any of it is changed",
  (stage: Stage) =>
    amongStrangers(stage, { groups: [even], others: [stateful] }, async ({ world }) => {
      const { cloud } = world.ground;
      const nodes = (): unknown[] =>
        cloud.instances(stateful.id).map(({ node, state }) => {
          const found = world.kube.get("nodes", node);
          return { state, labels: found?.metadata.labels, spec: found?.["spec"] };
        });
      const before = nodes();
      await world.ground.ask(world, { ...first, image: "image-2" });
      await world.until("the group to be refused, and the other one to be rolled", async () => {
        const { message } = await conditionOf(world, "Ready");
        const isRolled = cloud.instances(even.id).filter(({ state }) => state === "Ready")
          .every(({ template }) => template.fields.image === "image-2");
        return isRolled && message.includes('"stateful"') && message.includes('disk "data"');
      });
      assert.deepEqual(nodes(), before);
      assert.equal(cloud.group(stateful.id)?.templates.length, 1);
    }),
);

/** Blocks all evictions until the returned function is called. */
async function holdDrains({ world }: StrangerScene): Promise<() => Promise<void>> {
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  const spec = { minAvailable: even.size, selector: {} };
  await world.create(budgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "db" },
    spec,
  });
  return () => world.remove(`${budgets}/db`);
}

/** Waits so long that an autoscaler that may remove the new machine has certainly done so. */
async function longerThanUnneeded({ world, autoscaler }: StrangerScene): Promise<void> {
  const { cloud } = world.ground;
  const known = Date.now();
  await world.until("a new machine that is empty for long, or that the autoscaler removed", () => {
    const isNew = cloud.instances().some(({ token, state, since }) =>
      token !== undefined && state === "Ready" && Date.now() - Math.max(known, Date.parse(since)) > 6_000
    );
    return Promise.resolve(isNew || autoscaler.removed.length > 0);
  }, 30);
}
