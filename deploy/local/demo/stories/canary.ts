import { guests, nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { shortImage } from "../machine_board.ts";
import { between, livingOf, newcomers, type Ordered } from "./machine_groups.ts";
import type { Story, StoryScene } from "./story.ts";

const soakMs = 3_000;
const stale = "0".repeat(12);

/** Rolls out in three waves, which end at 1, 3 and 6 machines, after the plan was approved. */
export const canary: Story = {
  title: "After the approval of the plan, one machine, then half and then all are replaced, with a soak and gates",
  replicas: 6,
  surge: 3,
  script: { bootSeconds: { min: 0.5, max: 1.5 } },
  policy: {
    waves: [{ upTo: 1, soak: `${soakMs / 1000}s` }, { upTo: "50%" }, { upTo: "100%" }],
    budget: { machines: 3 },
    gates: [{
      name: "guests",
      run: "EachWave",
      within: "60s",
      pods: { namespace: guests.namespace, selector: { matchLabels: { app: guests.name } }, min: guests.replicas },
    }],
    approval: "BeforeFirst",
  },
  async tell(scene: StoryScene): Promise<void> {
    const before = livingOf(scene.observer.report().lives);
    await scene.cluster.patch(poolPath, releasePatch(nextRelease));
    scene.narrator.say(`  the pool changes to image ${shortImage(nextRelease.image)}, and waits for approval`);
    await approve(scene, before);
    const soaking = await scene.rollout.until("the soak of the first wave", ({ waves = [] }) => {
      return waves[0]?.soakUntil !== undefined;
    });
    const done = await scene.rollout.converged(nextRelease);
    const fresh = newcomers(scene.observer.report().lives, before);
    checkWaves(scene, { fresh, soakUntil: soaking.waves?.[0]?.soakUntil });
    const entry = done.history?.at(-1);
    scene.checks.equal("outcome in the history", {
      seen: `${entry?.outcome} ${entry?.image}, ${entry?.machines} machines, ${entry?.failed} failed`,
      wanted: `Converged ${nextRelease.image}, 6 machines, 0 failed`,
    });
  },
};

async function approve({ rollout, checks, narrator, observer }: StoryScene, before: readonly string[]): Promise<void> {
  const { plan } = await rollout.until("a plan that awaits approval", ({ plan, blockedReason }) => {
    return blockedReason === "AwaitingApproval" && Boolean(plan?.hash);
  });
  const begun = newcomers(observer.report().lives, before).length;
  checks.equal("machines ordered before the approval", { seen: begun, wanted: 0 });
  const refusal = await rollout.refusal("approve", { plan: stale, reason: "an old browser tab" });
  checks.add({
    name: `the approval of the stale plan "${stale}" is refused`,
    ok: refusal !== undefined,
    detail: refusal ?? "it was accepted",
  });
  narrator.say(`  plan "${plan?.hash}" is approved`);
  await rollout.ask("approve", { plan: plan?.hash, reason: "the diff is as expected" });
  const approved = await rollout.until("the approval", (status) => status.plan?.approved === true);
  checks.equal("hash of the approved plan", { seen: approved.plan?.hash, wanted: plan?.hash });
}

function checkWaves(
  { checks }: StoryScene,
  { fresh, soakUntil }: { fresh: readonly Ordered[]; soakUntil: string | undefined },
): void {
  checks.equal("new machines ordered", { seen: fresh.length, wanted: 6 });
  const [first, second, , fourth] = fresh;
  checks.add({
    name: `the first wave, of 1 machine, soaked for ${soakMs / 1000} s`,
    ok: between(first?.readyAt, soakUntil) >= soakMs && between(soakUntil, second?.orderedAt) >= 0,
    detail: `Ready at ${first?.readyAt}, soak until ${soakUntil}, next machine ordered at ${second?.orderedAt}`,
  });
  const proven = fresh.slice(0, 3).map(({ readyAt }) => readyAt ?? "never").sort().at(-1);
  checks.add({
    name: "the second wave ended at 3 of 6",
    ok: between(proven, fourth?.orderedAt) > 0,
    detail: `third machine Ready at ${proven}, fourth machine ordered at ${fourth?.orderedAt}`,
  });
}
