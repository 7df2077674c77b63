import { nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { between, livingOf, newcomers } from "./machine_groups.ts";
import { policyPath } from "./policy_objects.ts";
import type { RolloutStatus } from "./rollout_desk.ts";
import type { Story, StoryScene } from "./story.ts";

/**
 * Seconds by which the window is longer than a typical replacement, and by which the replacement in this story is
 * longer than the window.
 */
const spareSeconds = 4;

/**
 * No replacement starts before the window of the RolloutPolicy opens; a replacement that started in the window finishes
 * after the window has closed.
 */
export const window: Story = {
  title: "No replacement starts before the window opens; one that started in it finishes after the window has closed",
  replicas: 2,
  surge: 1,
  script: { bootSeconds: { min: 0.3, max: 0.8 } },
  policy: {},
  async tell(scene: StoryScene): Promise<void> {
    const { cluster, rollout, checks, narrator, site, observer } = scene;
    const before = livingOf(observer.report().lives);
    const opensAt = nextMinute(8_000);
    const seconds = usualSeconds(await rollout.status()) + spareSeconds;
    const slow = seconds + spareSeconds;
    site.cloud.script({ bootSeconds: { min: slow, max: slow } });
    await cluster.patch(policyPath, { spec: { windows: [windowAt(opensAt, seconds)] } });
    await cluster.patch(poolPath, releasePatch(nextRelease));
    narrator.say(`  the pool changes to another image; the window opens at ${iso(opensAt)} for ${seconds} s`);
    const closed = await rollout.until("a closed window", ({ blockedReason }) => blockedReason === "OutsideWindow");
    checks.add({ name: "the Rollout reports that it waits for the window", ok: true, detail: closed.message ?? "" });
    await checkOneBegan(scene, { before, opensAt, closesAt: opensAt + seconds * 1000 });
    narrator.say("  the windows are removed from the policy");
    site.cloud.script({ bootSeconds: { min: 0.3, max: 0.8 } });
    await cluster.patch(policyPath, { spec: { windows: null } });
    const done = await rollout.converged(nextRelease);
    checks.equal("without windows the remaining machine is replaced at once", { seen: done.updated, wanted: "2/2" });
  },
};

async function checkOneBegan(
  scene: StoryScene,
  { before, opensAt, closesAt }: { before: string[]; opensAt: number; closesAt: number },
): Promise<void> {
  const { cluster, checks, observer, rollout } = scene;
  const first = await cluster.until("the replacement of the first machine", () => {
    const [newMachine] = newcomers(observer.report().lives, before);
    const isDone = observer.report().lives.some(({ name, goneAt }) => before.includes(name) && goneAt !== undefined);
    return Promise.resolve(isDone && newMachine);
  }, 120);
  const late = between(iso(opensAt), first.orderedAt) / 1000;
  checks.add({
    name: "no replacement started before the window opened",
    ok: late >= 0,
    detail: `the first machine was ordered ${late.toFixed(1)} s after the window opened`,
  });
  checks.add({
    name: "the replacement in progress finished after the window closed",
    ok: between(iso(closesAt), first.readyAt) > 0,
    detail: `Ready ${(between(iso(closesAt), first.readyAt) / 1000).toFixed(1)} s after the window closed`,
  });
  const rested = await rollout.until("the end of the replacement in progress", ({ underway, blockedReason }) => {
    return underway?.length === 0 && blockedReason === "OutsideWindow";
  });
  checks.equal("outside the window no further machine is replaced, although the budget is free", {
    seen: `${newcomers(observer.report().lives, before).length} ordered, ${rested.updated} updated`,
    wanted: "1 ordered, 1/2 updated",
  });
}

/**
 * Returns the first full minute at least `awayMs` milliseconds from now; the cron schedule of a window has no shorter
 * unit.
 */
function nextMinute(awayMs: number): number {
  return Math.ceil((Date.now() + awayMs) / 60_000) * 60_000;
}

/**
 * Returns the typical seconds of a replacement; in a window that is longer, Ostler starts a replacement only while at
 * least this time is left.
 */
function usualSeconds({ usual }: RolloutStatus): number {
  return Math.ceil(Math.max(0, ...usual?.join ?? []) + Math.max(0, ...usual?.leave ?? []));
}

function windowAt(opensAt: number, seconds: number): object {
  const at = new Date(opensAt);
  const cron = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
  return { cron, duration: `${seconds}s`, timeZone: "UTC" };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
