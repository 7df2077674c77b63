/** The demo's main story: tools, stack, a pool is created, changed, and judged by a stranger. */
import { type Site, startSite } from "../site/site.ts";
import { findPostgres } from "../stack/lent_temporal.ts";
import { resolveTools } from "../tools/resolve_tools.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import { machineToolNames, temporalToolNames, type ToolName } from "../tools/tool_name.ts";
import { changePool } from "./change_pool.ts";
import { createPool } from "./create_pool.ts";
import { type DemoReport, demoReport, type Durations } from "./demo_report.ts";
import { explain } from "./ending.ts";
import { finalText } from "./final_table.ts";
import { containerGround, type Ground, simulatedGround } from "./ground.ts";
import { containerImages, imageNodes } from "./images_ground.ts";
import { containerGroups, simulatedGroups } from "./groups_ground.ts";
import { installedGround } from "./installed_ground.ts";
import type { Narrator } from "./narrator.ts";
import type { DemoOptions } from "./options.ts";
import { pool, type Release } from "./pool_objects.ts";
import { setScene } from "./set_scene.ts";
import type { Stage } from "./stage.ts";
import { Stopwatch } from "./stopwatch.ts";
import { storyOf } from "./stories/catalogue.ts";
import { playStory } from "./stories/play_story.ts";
import type { StoryReport } from "./stories/story_report.ts";
import { thingsToTry } from "./things_to_try.ts";
import { ToolLines } from "./tool_lines.ts";

/** What a demo needs, and whom it tells. */
export interface Demo {
  readonly options: DemoOptions;
  readonly narrator: Narrator;
  readonly stage: Stage;
  /** An empty directory for all state. */
  readonly directory: string;
  /** Called once, when the story is told and before anything is stopped. */
  readonly onReport: (report: DemoReport | StoryReport) => Promise<void>;
}

type Tools = Record<typeof toolsNeeded[number], string>;

const toolsNeeded = ["etcd", "kube-apiserver", "kube-controller-manager", "temporal", "machine-controller"] as const;

/** Tells the story and stops everything it started; rejects with the reason when it cannot be told to its end. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, narrator, stage } = demo;
  const stopwatch = new Stopwatch();
  narrator.say("1/5 Find the tools of the stack, or build them");
  const tools = await findTools(demo, await toolsFor(options));
  const durations: Durations = { tools: stopwatch.lap(), stack: 0, create: 0, roll: 0 };
  stage.limit(secondsFor(options));
  narrator.say("2/5 Start the stack, and Ostler in it");
  const ground = await openGround(demo, tools);
  try {
    await onGround(demo, ground, { tools: tools as Tools & { kubectl: string }, durations, stopwatch });
  } finally {
    await stopGround(ground, narrator);
  }
}

// Told at once: whoever ended the demo hears at its end why it ended, and of nothing that failed after that.
async function stopGround(ground: Ground, narrator: Narrator): Promise<void> {
  await ground.stop().catch((error: unknown) => {
    narrator.say(`What machines left on this host remains: ${explain(error)}`);
    throw error;
  });
}

interface Play {
  readonly tools: Tools & { kubectl: string };
  readonly durations: Durations;
  readonly stopwatch: Stopwatch;
}

async function onGround(demo: Demo, ground: Ground, play: Play): Promise<void> {
  const { options, narrator, stage } = demo;
  const site = await openSite(demo, play.tools, ground);
  play.durations.stack = play.stopwatch.lap();
  try {
    const name = options.story;
    const report = name === undefined
      ? await tellStory(demo, site, { ...play, ground })
      : await playStory({ ...demo, name, site, ground });
    await demo.onReport(report);
    stage.unlimit();
    if (options.keep) await keepRunning(demo, site, { tools: play.tools, release: ground.releases[1] });
  } finally {
    narrator.say("Stopping every process");
    await site.stop();
  }
}

// Not through the stage, as with the site: what is cut short cleans up, and that is worth waiting for.
async function openGround(
  { options, narrator, stage, directory }: Demo,
  tools: Record<ToolName, string>,
): Promise<Ground> {
  const { story } = options;
  if (options.machines === "simulated" && story === "in-place") return imageNodes();
  if (options.machines === "simulated") return story === "scaling-group" ? simulatedGroups() : simulatedGround;
  const onProgress = (text: string): void => narrator.say(`  ${text}`);
  const wanted = { options, programs: tools as NodePrograms, onProgress, signal: stage.signal };
  const open = (): Promise<Ground> => {
    if (story === "installed") return installedGround({ ...wanted, tools, directory });
    if (story === "in-place") return containerImages(wanted);
    return story === "scaling-group" ? containerGroups(wanted) : containerGround(wanted);
  };
  return await stage.during("an engine, an image and a mirror for machines", open());
}

async function toolsFor({ story, machines, keep }: DemoOptions): Promise<ToolName[]> {
  const programs: readonly ToolName[] = machines === "container" ? machineToolNames : [];
  if (story !== "installed") return [...toolsNeeded, ...(keep ? ["kubectl" as const] : []), ...programs];
  const server = await findPostgres() === undefined ? [] : temporalToolNames;
  return [...toolsNeeded, "kubectl", "helm", ...server, ...programs];
}

function secondsFor({ story, machines, replicas, bootSeconds, cutSeconds }: DemoOptions): number {
  if ((story === "scaling-group" || story === "in-place") && machines === "container") return 1800;
  return story === "installed" ? 1800 + cutSeconds : 600 + replicas * (60 + 4 * bootSeconds);
}

async function findTools({ narrator, stage }: Demo, names: readonly ToolName[]): Promise<Record<ToolName, string>> {
  const lines = new ToolLines();
  const onProgress: NonNullable<Parameters<typeof resolveTools>[1]>["onProgress"] = (progress) =>
    narrator.show(lines.take(progress));
  try {
    return await stage.until("the tools", resolveTools(names, { onProgress, signal: stage.signal }));
  } finally {
    narrator.settle();
  }
}

/** In a story about decisions nobody waits for pods. */
const quick = { readySeconds: { min: 0.1, max: 0.5 }, podStartSeconds: 0.2, maxPodGraceSeconds: 1 };

async function openSite({ options, narrator, stage, directory }: Demo, tools: Tools, ground: Ground): Promise<Site> {
  const { seed, bootSeconds, story: name } = options;
  const script = { bootSeconds: { min: bootSeconds * 0.7, max: bootSeconds * 1.3 } };
  const { temporal } = ground.premises ?? {};
  // Not through the stage: a start that is cut short stops what it had started, and that is worth waiting for.
  return await stage.during(
    "the stack",
    startSite({
      directory,
      tools,
      seed,
      script: name === undefined ? script : { ...quick, ...storyOf(name, options.machines).script },
      ...(ground.machines ? { machines: ground.machines } : {}),
      settings: { ...ground.groups?.settings, ...ground.images?.settings, ...ground.settings },
      ...(temporal ? { startTemporal: (supervisor) => temporal.start(supervisor) } : {}),
      onProgress: (text) => narrator.say(`  ${text}`),
      onCrash: (crash) => stage.end(crash),
      onRevival: (line) => narrator.say(`  ${line}`),
      signal: stage.signal,
    }),
  );
}

async function tellStory(
  { options, narrator, stage }: Demo,
  site: Site,
  { durations, stopwatch, ground }: Play & { ground: Ground },
): Promise<DemoReport> {
  await using props = new AsyncDisposableStack();
  const scene = await setScene(props, { narrator, stage, site, replicas: options.replicas });
  const { fleet, observer, runs } = scene;
  narrator.say(`3/5 Create MachineDeployment "${pool.name}" with ${options.replicas} machines`);
  fleet.start();
  const { replicas } = options;
  const [first, next] = ground.releases;
  await createPool(scene, { ...ground.shape, replicas, release: first }, ground.guestImage);
  durations.create = stopwatch.lap();
  observer.arm();
  narrator.say("4/5 Change it: one machine in, one machine out, and the worker dies on the way");
  await changePool(scene, { replicas, releases: ground.releases });
  durations.roll = stopwatch.lap();
  await fleet.stop();
  const observed = await stage.until("the observer's last look", observer.stop());
  const { seed } = options;
  const webUi = site.stack.temporal.uiUrl;
  const facts = { seed, replicas, durations, results: runs.results, observed, workerKilled: true, webUi };
  const report = demoReport({ ...facts, updated: countUpdated(site, next) });
  narrator.say(`5/5 What happened\n${finalText(report)}`);
  return report;
}

function countUpdated({ cloud }: Site, { image, kubelet }: Release): number {
  const living = cloud.machines().filter(({ phase }) => phase === "ready");
  return living.filter((machine) => machine.image === image && machine.kubelet?.replace(/^v/, "") === kubelet).length;
}

async function keepRunning(
  { narrator, stage }: Demo,
  site: Site,
  { tools, release }: Pick<Play, "tools"> & { release: Release },
): Promise<void> {
  narrator.say(thingsToTry(site, tools, release));
  await stage.until("Ctrl-C", new Promise(() => {}));
}
