/**
 * Plays one story on a running cluster with Ostler: creates a pool and its policy, plays the steps of the story, and
 * collects the story's checks and those of the observer.
 */
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
import type { Waits } from "../waits.ts";
import { Stopwatch } from "../stopwatch.ts";
import { Checklist } from "./checklist.ts";
import { Cluster } from "./cluster.ts";
import { storyOf } from "./catalogue.ts";
import { GuestWatch } from "./guest_watch.ts";
import { rolloutPolicy } from "./policy_objects.ts";
import { RolloutDesk } from "./rollout_desk.ts";
import type { Story, StoryScene } from "./story.ts";
import type { StoryName } from "./story_names.ts";
import { observerChecks, type StoryReport, storyText } from "./story_report.ts";

/** A story and its environment. */
interface Playing {
  readonly name: StoryName;
  readonly options: DemoOptions;
  readonly narrator: Narrator;
  readonly waits: Waits;
  readonly site: Site;
  readonly ground: Ground;
}

/** Plays the story and returns its report; an error in a step of the story only adds a failed check. */
export async function playStory(playing: Playing): Promise<StoryReport> {
  const { name, options, narrator, waits, site } = playing;
  const story = storyOf(name, options.machines);
  await using props = new AsyncDisposableStack();
  const scene = await openScene(props, story, playing);
  await story.prepare?.(scene);
  narrator.say(`3/5 Create a pool of ${story.replicas} machines and its RolloutPolicy`);
  await createAll(scene, story);
  const stopwatch = new Stopwatch();
  narrator.say(`4/5 ${story.title}`);
  await tell(scene, story);
  const seconds = stopwatch.lap();
  await scene.fleet.stop();
  const observed = await waits.until("the last snapshot of the observer", scene.observer.stop());
  const checks = [...scene.checks.all, ...observerChecks(observed), guestCheck(scene)];
  const { violations, gaps } = observed;
  const facts = { story: name, seed: options.seed, replicas: story.replicas, seconds, violations, gaps };
  const report = { ok: checks.every(({ ok }) => ok), ...facts, checks, webUi: site.stack.temporal.uiUrl };
  narrator.say(`5/5 Results of the checks\n${storyText(report)}`);
  return report;
}

async function openScene(
  props: AsyncDisposableStack,
  { replicas, surge, extra = 0, down = 0, namespace }: Story,
  { options, narrator, waits, site, ground }: Playing,
): Promise<StoryScene> {
  const where = namespace === undefined ? {} : { namespace };
  const least = { replicas: replicas - down, surge: surge + extra + down };
  const setting = { narrator, waits, site, ...least, mayHalt: true, ...where };
  const scene = await setScene(props, setting);
  const guests = await GuestWatch.start(site.stack.adminKubeconfig);
  props.defer(() => guests.stop());
  const cluster = new Cluster(scene);
  const rollout = new RolloutDesk({ cluster, client: scene.client });
  const { premises } = ground;
  const installed = premises && props.use(await Installation.open({ ...premises, site, signal: waits.signal }));
  const optional = installed ? { installation: installed } : {};
  return { ...scene, cluster, rollout, guests, checks: new Checklist(narrator), options, ground, ...optional };
}

async function createAll(scene: StoryScene, { profile, policy, replicas, surge }: Story): Promise<void> {
  const { site, waits, fleet, observer, guests, ground } = scene;
  const objects = [...(profile ? [profile] : []), rolloutPolicy(policy)];
  await waits.until("profile and policy", applyObjects(site.stack.adminKubeconfig, objects));
  fleet.start();
  const name = profile === undefined ? {} : { profile: profile.metadata.name };
  const shape = { ...ground.shape, ...name, replicas, surge, release: ground.releases[0] };
  await createPool(scene, shape, ground.guestImage);
  observer.arm();
  guests.arm();
}

async function tell({ checks, waits, ...scene }: StoryScene, story: Story): Promise<void> {
  try {
    await story.tell({ ...scene, checks, waits });
  } catch (error) {
    // If a signal such as SIGINT, a crash or the time limit ended the demo, this error is only a consequence, so the
    // reason of the end is thrown instead.
    waits.signal.throwIfAborted();
    checks.add({ name: "the story finished", ok: false, detail: explain(error) });
  }
}

function guestCheck({ guests }: StoryScene): StoryReport["checks"][number] {
  const { needed } = wanted;
  const name = `at least ${needed} pods of Deployment "${wanted.name}" available at any time`;
  return { name, ok: guests.least >= needed, detail: `minimum ${guests.least}` };
}
