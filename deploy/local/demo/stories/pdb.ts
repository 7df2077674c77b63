import type { Blocker } from "../../../../workflows/contracts/mod.ts";
import { guests, nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { livingOf, newcomers } from "./machine_groups.ts";
import type { RolloutStatus } from "./rollout_desk.ts";
import type { Play, Story } from "./story.ts";

const budgetPath = `/apis/policy/v1/namespaces/${guests.namespace}/poddisruptionbudgets/${guests.name}`;
interface Node {
  metadata: { annotations?: Record<string, string> };
  spec?: { unschedulable?: boolean };
}

const budgetName = `${guests.namespace}/${guests.name}`;

/** A PodDisruptionBudget holds up a drain until somebody eases it; meanwhile the pool is scaled. */
export const pdb: Story = {
  title: "A PodDisruptionBudget blocks a drain: what blocks is named, the autoscaler goes on, and no pod is lost",
  replicas: 3,
  surge: 1,
  extra: 1,
  script: { bootSeconds: { min: 0.3, max: 0.8 } },
  policy: { drain: { timeout: "3s", onBlocked: "Wait" } },
  async tell(play: Play): Promise<void> {
    const before = livingOf(play.observer.report().lives);
    play.narrator.say(`  PodDisruptionBudget "${budgetName}" allows no disruption, and the image is changed`);
    await play.cluster.patch(budgetPath, { spec: { minAvailable: guests.replicas } });
    await play.cluster.patch(poolPath, releasePatch(nextRelease));
    await checkBlocked(play);
    await scaleUp(play);
    play.narrator.say("  the PodDisruptionBudget is eased");
    await play.cluster.patch(budgetPath, { spec: { minAvailable: guests.needed } });
    await goOn(play, before);
  },
};

async function checkBlocked({ cluster, rollout, checks, observer }: Play): Promise<void> {
  const status = await rollout.until("a named blocker", (told) => blockersOf(told).length > 0);
  const [blocker] = blockersOf(status);
  checks.add({
    name: "the Rollout names pod, owner and PodDisruptionBudget",
    ok: isNamed(blocker),
    detail: `${blocker?.pod} of ${blocker?.owner}: ${blocker?.why}`,
  });
  const draining = status.underway?.find(({ blockers = [] }) => blockers.length > 0)?.node;
  const node = await cluster.get<Node>(`/api/v1/nodes/${draining}`);
  checks.equal("new pods and the autoscaler are kept off the draining node", {
    seen: [
      node?.spec?.unschedulable,
      node?.metadata.annotations?.["cluster-autoscaler.kubernetes.io/scale-down-disabled"],
    ],
    wanted: [true, "true"],
  });
  checks.equal("no machine is removed meanwhile", {
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

async function scaleUp({ cluster, checks, observer, narrator, rollout }: Play): Promise<void> {
  narrator.say("  the autoscaler wants one machine more");
  const known = livingOf(observer.report().lives);
  await cluster.patch(poolPath, { spec: { replicas: 4 } });
  const name = await cluster.until("one machine more", () => {
    const living = livingOf(observer.report().lives);
    return Promise.resolve(living.find((each) => !known.includes(each)));
  });
  const status = await rollout.status();
  checks.add({
    name: "a scale-up is served while the drain is blocked",
    ok: blockersOf(status).length > 0,
    detail: `${name} is Ready, and ${blockersOf(status).length} pods block`,
  });
}

async function goOn(play: Play, before: readonly string[]): Promise<void> {
  const { cluster, rollout, checks, narrator, observer } = play;
  await rollout.until("the drain to end", (status) => blockersOf(status).length === 0);
  narrator.say("  the autoscaler wants three machines again");
  await cluster.patch(poolPath, { spec: { replicas: 3 } });
  const done = await rollout.converged(nextRelease);
  checks.equal("it went on and replaced all machines", { seen: done.updated, wanted: "3/3" });
  const fresh = newcomers(observer.report().lives, before);
  const wasted = fresh.filter(({ readyAt, goneAt }) => readyAt !== undefined && goneAt !== undefined);
  checks.equal("the scale-down took no new machine", { seen: wasted.map(({ name }) => name), wanted: [] });
}
