/** Plays one story on a site: creates a pool and its policy, plays the story, and checks everything. */
import type { Site } from "../../site/site.ts";
import { applyObjects } from "../../stack/manifests.ts";
import { Installation } from "../../installation/installation.ts";
import { createPool } from "../create_pool.ts";
import type { Ground } from "../ground.ts";
import type { DemoOptions } from "../options.ts";
import { explain } from "../ending.ts";
import type { Narrator } from "../narrator.ts";
import { guests as wanted } from "../pool_objects.ts";
import { setScene } from "../set_scene.ts";
import type { Stage } from "../stage.ts";
import { Stopwatch } from "../stopwatch.ts";
import { Checklist } from "./checklist.ts";
import { Cluster } from "./cluster.ts";
import { storyOf } from "./catalogue.ts";
import { GuestWatch } from "./guest_watch.ts";
import { rolloutPolicy } from "./policy_objects.ts";
import { RolloutDesk } from "./rollout_desk.ts";
import type { Play, Story } from "./story.ts";
import type { StoryName } from "./story_names.ts";
import { observerChecks, type StoryReport, storyText } from "./story_report.ts";

/** A story and its environment. */
export interface Playing {
  readonly name: StoryName;
  readonly options: DemoOptions;
  readonly narrator: Narrator;
  readonly stage: Stage;
  readonly site: Site;
  readonly ground: Ground;
}

/** Plays the story and returns its report; a story that gets stuck only adds a failed check. */
export async function playStory(playing: Playing): Promise<StoryReport> {
  const { name, options, narrator, stage, site } = playing;
  const story = storyOf(name, options.machines);
  await using props = new AsyncDisposableStack();
  const play = await openPlay(props, story, playing);
  await story.prepare?.(play);
  narrator.say(`3/5 Create a pool of ${story.replicas} machines and its RolloutPolicy`);
  await createAll(play, story);
  const stopwatch = new Stopwatch();
  narrator.say(`4/5 ${story.title}`);
  await tell(play, story);
  const seconds = stopwatch.lap();
  await play.fleet.stop();
  const observed = await stage.until("the last snapshot of the observer", play.observer.stop());
  const checks = [...play.checks.all, ...observerChecks(observed), guestCheck(play)];
  const { violations, gaps } = observed;
  const facts = { story: name, seed: options.seed, replicas: story.replicas, seconds, violations, gaps };
  const report = { ok: checks.every(({ ok }) => ok), ...facts, checks, webUi: site.stack.temporal.uiUrl };
  narrator.say(`5/5 Results of the checks\n${storyText(report)}`);
  return report;
}

async function openPlay(
  props: AsyncDisposableStack,
  { replicas, surge, extra = 0, down = 0, namespace }: Story,
  { options, narrator, stage, site, ground }: Playing,
): Promise<Play> {
  const where = namespace === undefined ? {} : { namespace };
  const least = { replicas: replicas - down, surge: surge + extra + down };
  const setting = { narrator, stage, site, ...least, mayHalt: true, ...where };
  const scene = await setScene(props, setting);
  const guests = await GuestWatch.start(site.stack.adminKubeconfig);
  props.defer(() => guests.stop());
  const cluster = new Cluster(scene);
  const rollout = new RolloutDesk({ cluster, client: scene.client });
  const { premises } = ground;
  const installed = premises && props.use(await Installation.open({ ...premises, site, signal: stage.signal }));
  const optional = installed ? { installation: installed } : {};
  return { ...scene, cluster, rollout, guests, checks: new Checklist(narrator), options, ground, ...optional };
}

async function createAll(play: Play, { profile, policy, replicas, surge }: Story): Promise<void> {
  const { site, stage, fleet, observer, guests, ground } = play;
  const objects = [...(profile ? [profile] : []), rolloutPolicy(policy)];
  await stage.until("profile and policy", applyObjects(site.stack.adminKubeconfig, objects));
  fleet.start();
  const name = profile === undefined ? {} : { profile: profile.metadata.name };
  const shape = { ...ground.shape, ...name, replicas, surge, release: ground.releases[0] };
  await createPool(play, shape, ground.guestImage);
  observer.arm();
  guests.arm();
}

async function tell({ checks, stage, ...play }: Play, story: Story): Promise<void> {
  try {
    await story.tell({ ...play, checks, stage });
  } catch (error) {
    // An error after the end of the stage is a consequence of that end.
    stage.signal.throwIfAborted();
    checks.add({ name: "the story finished", ok: false, detail: explain(error) });
  }
}

function guestCheck({ guests }: Play): StoryReport["checks"][number] {
  const { needed } = wanted;
  const name = `at least ${needed} guests available at any time`;
  return { name, ok: guests.least >= needed, detail: `minimum ${guests.least}` };
}
