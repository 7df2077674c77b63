import { nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { between, livingOf, newcomers } from "./machine_groups.ts";
import { policyPath } from "./policy_objects.ts";
import type { RolloutStatus } from "./rollout_desk.ts";
import type { Play, Story } from "./story.ts";

/** The window is open so much longer than a replacement usually takes, and this time one takes longer still. */
const spareSeconds = 4;

/** Nothing begins before the window opens, and what began in it is finished after it closed. */
export const window: Story = {
  title: "Nothing begins before the window opens, and what began in it is finished after it has closed",
  replicas: 2,
  surge: 1,
  script: { bootSeconds: { min: 0.3, max: 0.8 } },
  policy: {},
  async tell(play: Play): Promise<void> {
    const { cluster, rollout, checks, narrator, site, observer } = play;
    const before = livingOf(observer.report().lives);
    const opensAt = nextMinute(8_000);
    const seconds = usualSeconds(await rollout.status()) + spareSeconds;
    const slow = seconds + spareSeconds;
    site.cloud.script({ bootSeconds: { min: slow, max: slow } });
    await cluster.patch(policyPath, { spec: { windows: [windowAt(opensAt, seconds)] } });
    await cluster.patch(poolPath, releasePatch(nextRelease));
    narrator.say(`  the image is changed; the window opens at ${iso(opensAt)} for ${seconds} s`);
    const closed = await rollout.until("a closed window", ({ blockedReason }) => blockedReason === "OutsideWindow");
    checks.add({ name: "the Rollout says that it waits for the window", ok: true, detail: closed.message ?? "" });
    await checkOneBegan(play, { before, opensAt, closesAt: opensAt + seconds * 1000 });
    narrator.say("  the policy's windows are taken away");
    site.cloud.script({ bootSeconds: { min: 0.3, max: 0.8 } });
    await cluster.patch(policyPath, { spec: { windows: null } });
    const done = await rollout.converged(nextRelease);
    checks.equal("without windows the rest is replaced at once", { seen: done.updated, wanted: "2/2" });
  },
};

async function checkOneBegan(
  play: Play,
  { before, opensAt, closesAt }: { before: string[]; opensAt: number; closesAt: number },
): Promise<void> {
  const { cluster, checks, observer, rollout } = play;
  const first = await cluster.until("the first machine's replacement", () => {
    const [newcomer] = newcomers(observer.report().lives, before);
    const isDone = observer.report().lives.some(({ name, goneAt }) => before.includes(name) && goneAt !== undefined);
    return Promise.resolve(isDone && newcomer);
  }, 120);
  const late = between(iso(opensAt), first.orderedAt) / 1000;
  checks.add({
    name: "nothing began before the window opened",
    ok: late >= 0,
    detail: `the first machine came ${late.toFixed(1)} s after it opened`,
  });
  checks.add({
    name: "what was under way was finished after it closed",
    ok: between(iso(closesAt), first.readyAt) > 0,
    detail: `it was Ready ${(between(iso(closesAt), first.readyAt) / 1000).toFixed(1)} s after the window closed`,
  });
  const rested = await rollout.until("the end of what was under way", ({ underway, blockedReason }) => {
    return underway?.length === 0 && blockedReason === "OutsideWindow";
  });
  checks.equal("outside the window the next machine does not begin, though the budget is free", {
    seen: `${newcomers(observer.report().lives, before).length} came, ${rested.updated} updated`,
    wanted: "1 came, 1/2 updated",
  });
}

/** The first full minute that is at least so far away; cron knows no shorter time. */
function nextMinute(awayMs: number): number {
  return Math.ceil((Date.now() + awayMs) / 60_000) * 60_000;
}

/** What was measured in this pool so far: a machine is not started when the rest of the window is shorter. */
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
