import type { Blocker } from "../../../../workflows/contracts/mod.ts";
import { guests, nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { livingOf, newcomers } from "./machine_groups.ts";
import type { RolloutStatus } from "./rollout_desk.ts";
import type { Story, StoryScene } from "./story.ts";

const budgetPath = `/apis/policy/v1/namespaces/${guests.namespace}/poddisruptionbudgets/${guests.name}`;
interface Node {
  metadata: { annotations?: Record<string, string> };
  spec?: { unschedulable?: boolean };
}

const budgetName = `${guests.namespace}/${guests.name}`;

/** A PodDisruptionBudget blocks a drain until it is relaxed; meanwhile the pool is scaled. */
export const pdb: Story = {
  title:
    "A PodDisruptionBudget blocks a drain: the Rollout names it as blocker, the pool can be scaled, and no pod is lost",
  replicas: 3,
  surge: 1,
  extra: 1,
  script: { bootSeconds: { min: 0.3, max: 0.8 } },
  policy: { drain: { timeout: "3s", onBlocked: "Wait" } },
  async tell(scene: StoryScene): Promise<void> {
    const before = livingOf(scene.observer.report().lives);
    scene.narrator.say(
      `  PodDisruptionBudget "${budgetName}" now allows no disruption, and the pool changes to another image`,
    );
    await scene.cluster.patch(budgetPath, { spec: { minAvailable: guests.replicas } });
    await scene.cluster.patch(poolPath, releasePatch(nextRelease));
    await checkBlocked(scene);
    await scaleUp(scene);
    scene.narrator.say("  the PodDisruptionBudget is relaxed");
    await scene.cluster.patch(budgetPath, { spec: { minAvailable: guests.needed } });
    await goOn(scene, before);
  },
};

async function checkBlocked({ cluster, rollout, checks, observer }: StoryScene): Promise<void> {
  const status = await rollout.until("a reported blocker", (reported) => blockersOf(reported).length > 0);
  const [blocker] = blockersOf(status);
  checks.add({
    name: "the Rollout names pod, owner and PodDisruptionBudget",
    ok: isNamed(blocker),
    detail: `${blocker?.pod} of ${blocker?.owner}: ${blocker?.why}`,
  });
  const draining = status.underway?.find(({ blockers = [] }) => blockers.length > 0)?.node;
  const node = await cluster.get<Node>(`/api/v1/nodes/${draining}`);
  checks.equal("the draining node is cordoned and protected from the autoscaler", {
    seen: [
      node?.spec?.unschedulable,
      node?.metadata.annotations?.["cluster-autoscaler.kubernetes.io/scale-down-disabled"],
    ],
    wanted: [true, "true"],
  });
  checks.equal("machines removed while the drain is blocked", {
    seen: observer.report().lives.filter(({ goneAt }) => goneAt !== undefined).length,
    wanted: 0,
  });
}

function blockersOf({ underway = [] }: RolloutStatus): Blocker[] {
  return underway.flatMap(({ blockers = [] }) => blockers);
}

function isNamed(blocker: Blocker | undefined): boolean {
  return blocker !== undefined && blocker.pod.includes(guests.name) &&
    blocker.owner === `Deployment ${guests.namespace}/${guests.name}` &&
    blocker.why.includes(`PodDisruptionBudget ${budgetName}`);
}

async function scaleUp({ cluster, checks, observer, narrator, rollout }: StoryScene): Promise<void> {
  narrator.say("  the autoscaler scales the pool up by one machine");
  const known = livingOf(observer.report().lives);
  await cluster.patch(poolPath, { spec: { replicas: 4 } });
  const name = await cluster.until("an additional machine", () => {
    const living = livingOf(observer.report().lives);
    return Promise.resolve(living.find((each) => !known.includes(each)));
  });
  const status = await rollout.status();
  checks.add({
    name: "a scale-up succeeds while the drain is blocked",
    ok: blockersOf(status).length > 0,
    detail: `${name} is Ready, and ${blockersOf(status).length} pods block the drain`,
  });
}

async function goOn(scene: StoryScene, before: readonly string[]): Promise<void> {
  const { cluster, rollout, checks, narrator, observer } = scene;
  await rollout.until("the end of the drain", (status) => blockersOf(status).length === 0);
  narrator.say("  the autoscaler scales the pool down to three machines");
  await cluster.patch(poolPath, { spec: { replicas: 3 } });
  const done = await rollout.converged(nextRelease);
  checks.equal("the rollout continued and replaced all machines", { seen: done.updated, wanted: "3/3" });
  const fresh = newcomers(observer.report().lives, before);
  const wasted = fresh.filter(({ readyAt, goneAt }) => readyAt !== undefined && goneAt !== undefined);
  checks.equal("new machines removed by the scale-down", { seen: wasted.map(({ name }) => name), wanted: [] });
}
