/**
 * K23: every step of an upgrade of control planes fails before and after its work, and runs again on a worker that
 * caches no workflow. For Temporal, such a failure looks like a killed worker.
 */
import { deepEqual, notEqual } from "node:assert/strict";
import { holderOfUpgrade, poolOfGroup } from "../../workflows/commands/start_options.ts";
import { assertAllBroken, breakEachOnce } from "../support/broken_steps.ts";
import { FakeUpgrade } from "../support/fake_upgrade.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage({ maxCachedWorkflows: 0 });
const short = onStage({ maxCachedWorkflows: 0, dynamicConfig: ["limit.historyCount.suggestContinueAsNew=40"] });

test("K23 upgradeKubernetes: carries out each order to a node once, even if every step is interrupted before and after its work", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  const { steps: ofVersion, broken } = breakEachOnce(upgrade.ofVersion());
  const pools = breakEachOnce(upgrade.ofPools());
  stage.activities.upgrades.set(upgrade.name, ofVersion as never);
  for (const { name } of [poolOfGroup(upgrade.group), holderOfUpgrade({ name: upgrade.name })]) {
    stage.activities.others.set(name, pools.steps as never);
  }
  const { outcome } = await (await upgrade.start(stage)).result();
  deepEqual([outcome, upgrade.violations, upgrade.cordoned(), upgrade.slots], ["UpToDate", [], [], []]);
  deepEqual(upgrade.given("Fetch", "Apply", "Node", "Kubelet", "cordon", "drain", "uncordon"), [
    ...["Fetch a", "cordon a", "drain a", "Apply a", "Kubelet a", "uncordon a"],
    ...["Fetch c", "cordon c", "drain c", "Node c", "Kubelet c", "uncordon c"],
    ...["Fetch b", "cordon b", "drain b", "Node b", "Kubelet b", "uncordon b"],
  ]);
  assertAllBroken(broken, [
    ...["surveyUpgrade", "checkUpgrade", "ensureUpgradeReported", "awaitUpgradeOrdered", "awaitControlPlaneHealthy"],
    ...["ensureControlPlaneUncordoned", "ensureControlPlaneAnnounced"],
  ]);
  const ofPools = ["readDesired", "ensureSlotTaken", "ensureSlotsKept", "awaitMachineRelieved", "awaitNodeEmptied"];
  assertAllBroken(pools.broken, ofPools);
});

/** Points at which a run is terminated; the next run knows only what its survey of the cluster finds. */
const points = [
  ...["Fetch c", "slot c", "relieve c", "cordon c", "drain c", "Node c", "prove c", "Kubelet c", "uncordon c"],
  ...["announce c", "free c", "check cluster", "Apply a"],
];

test(
  "K23 upgradeKubernetes: a new run continues from a survey of the cluster alone, wherever the previous run was terminated",
  async (stage) => {
    await Promise.all(points.map(async (point) => {
      const upgrade = new FakeUpgrade().on(stage);
      const reached = Promise.withResolvers<void>();
      upgrade.before = (effect) => {
        if (effect === point) reached.resolve();
      };
      const handle = await upgrade.start(stage);
      await reached.promise;
      await handle.terminate("killed");
      const { outcome } = await (await upgrade.start(stage)).result();
      const kubelets = upgrade.planes.map(({ kubelet }) => kubelet);
      deepEqual([point, outcome, upgrade.cordoned(), upgrade.slots], [point, "UpToDate", [], []]);
      deepEqual([point, kubelets, upgrade.violations], [point, ["v1.36.1", "v1.36.1", "v1.36.1"], []]);
    }));
  },
  3,
);

short("K23 upgradeKubernetes: continues as new with only the NodeVersion name, and repeats no order", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  const handle = await upgrade.start(stage);
  const { runId: first } = await handle.describe();
  deepEqual((await handle.result()).outcome, "UpToDate");
  const last = await stage.client.workflow.getHandle(handle.workflowId).fetchHistory();
  const { input, continuedExecutionRunId } = last.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  const args = input?.payloads?.map(({ data }) => new TextDecoder().decode(data ?? undefined));
  deepEqual(args, [JSON.stringify({ name: upgrade.name })]);
  notEqual(continuedExecutionRunId ?? "", "");
  notEqual((await stage.client.workflow.getHandle(handle.workflowId).describe()).runId, first);
  deepEqual([upgrade.violations, upgrade.given("Fetch", "Apply", "Node", "Kubelet")], [[], [
    ...["Fetch a", "Apply a", "Kubelet a", "Fetch c", "Node c", "Kubelet c", "Fetch b", "Node b", "Kubelet b"],
  ]]);
});
