/**
 * The main story of the demo: finds tools, starts the stack, creates and changes a pool, and reports what an
 * independent observer saw.
 */
import { type Site, startSite } from "../site/site.ts";
import { findPostgres } from "../stack/lent_temporal.ts";
import { resolveTools } from "../tools/resolve_tools.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import { machineToolNames, temporalToolNames, type ToolName } from "../tools/tool_name.ts";
import { createPool } from "./create_pool.ts";
import { type DemoReport, demoReport, type Durations } from "./demo_report.ts";
import { explain } from "./ending.ts";
import { finalText } from "./final_table.ts";
import { containerGround, type Ground, simulatedGround } from "./ground.ts";
import { containerImages, imageNodes } from "./images_ground.ts";
import { containerGroups, simulatedGroups } from "./groups_ground.ts";
import { installedGround } from "./installed_ground.ts";
import type { LiveLine, Narrator } from "./narrator.ts";
import type { DemoOptions } from "./options.ts";
import { nextRelease, pool, poolPath, type Release, releasePatch } from "./pool_objects.ts";
import { setScene } from "./set_scene.ts";
import type { Waits } from "./waits.ts";
import { Stopwatch } from "./stopwatch.ts";
import { storyOf } from "./stories/catalogue.ts";
import { playStory } from "./stories/play_story.ts";
import type { StoryReport } from "./stories/story_report.ts";
import type { ToolProgress } from "../tools/progress.ts";
import { shortImage } from "./machine_board.ts";
import { runPage, workflowId } from "./runs.ts";
import type { Scene } from "./scene.ts";
import { basename, dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Progress } from "../../../workflows/contracts/mod.ts";

/** The input of a demo, and the receiver of its report. */
export interface Demo {
  readonly options: DemoOptions;
  readonly narrator: Narrator;
  readonly waits: Waits;
  /** An empty directory for all state. */
  readonly directory: string;
  /** Called once, after the story has finished and before anything is stopped. */
  readonly onReport: (report: DemoReport | StoryReport) => Promise<void>;
}

type Tools = Record<typeof toolsNeeded[number], string>;

const toolsNeeded = ["etcd", "kube-apiserver", "kube-controller-manager", "temporal", "machine-controller"] as const;

/** Plays the story and stops everything that it started; rejects with the reason if the story cannot finish. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, narrator, waits } = demo;
  const stopwatch = new Stopwatch();
  narrator.say("1/5 Find or build the tools of the stack");
  const tools = await findTools(demo, await toolsFor(options));
  const durations: Durations = { tools: stopwatch.lap(), stack: 0, create: 0, roll: 0 };
  waits.limit(secondsFor(options));
  narrator.say("2/5 Start the stack and Ostler");
  const ground = await openGround(demo, tools);
  const work = onGround(demo, ground, { tools: tools as Tools & { kubectl: string }, durations, stopwatch });
  await thenStop(work, () => tried(narrator, "clean up after the machines on this host", ground.stop()));
}

/** Waits for the work, then stops what it used; rejects with the failure of the work, or else with that of the stop. */
async function thenStop(work: Promise<void>, stop: () => Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  await stop();
}

// Prints a failed stop immediately, because the end of the demo reports only the first failure.
async function tried(narrator: Narrator, what: string, stop: Promise<void>): Promise<void> {
  await stop.catch((error: unknown) => {
    narrator.say(`Failed to ${what}: ${explain(error)}`);
    throw error;
  });
}

interface Prepared {
  readonly tools: Tools & { kubectl: string };
  readonly durations: Durations;
  readonly stopwatch: Stopwatch;
}

async function onGround(demo: Demo, ground: Ground, prepared: Prepared): Promise<void> {
  const { options, narrator, waits } = demo;
  const site = await openSite(demo, prepared.tools, ground);
  prepared.durations.stack = prepared.stopwatch.lap();
  const play = async (): Promise<void> => {
    const name = options.story;
    const report = name === undefined
      ? await tellStory(demo, site, { ...prepared, ground })
      : await playStory({ ...demo, name, site, ground });
    await demo.onReport(report);
    waits.unlimit();
    if (options.keep) await keepRunning(demo, site, { tools: prepared.tools, release: ground.releases[1] });
  };
  await thenStop(play(), () => {
    narrator.say("Stopping all processes");
    return tried(narrator, "stop all processes", site.stop());
  });
}

// Uses `Waits.during`, which keeps waiting after the demo was interrupted, because an interrupted start of the
// machines' environment still has to clean up.
async function openGround(
  { options, narrator, waits, directory }: Demo,
  tools: Record<ToolName, string>,
): Promise<Ground> {
  const { story } = options;
  if (options.machines === "simulated" && story === "in-place") return imageNodes();
  if (options.machines === "simulated") return story === "scaling-group" ? simulatedGroups() : simulatedGround;
  const onProgress = (text: string): void => narrator.say(`  ${text}`);
  const wanted = { options, programs: tools as NodePrograms, onProgress, signal: waits.signal };
  const open = (): Promise<Ground> => {
    if (story === "installed") return installedGround({ ...wanted, tools, directory });
    if (story === "in-place") return containerImages(wanted);
    return story === "scaling-group" ? containerGroups(wanted) : containerGround(wanted);
  };
  return await waits.during("the engine, image and mirror of the machines", open());
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

async function findTools({ narrator, waits }: Demo, names: readonly ToolName[]): Promise<Record<ToolName, string>> {
  const lines = new ToolLines();
  const onProgress: NonNullable<Parameters<typeof resolveTools>[1]>["onProgress"] = (progress) =>
    narrator.show(lines.take(progress));
  try {
    return await waits.until("the tools", resolveTools(names, { onProgress, signal: waits.signal }));
  } finally {
    narrator.settle();
  }
}

/** Short durations for nodes and pods, because stories show the decisions of Ostler, not the start of pods. */
const quick = { readySeconds: { min: 0.1, max: 0.5 }, podStartSeconds: 0.2, maxPodGraceSeconds: 1 };

async function openSite({ options, narrator, waits, directory }: Demo, tools: Tools, ground: Ground): Promise<Site> {
  const { seed, bootSeconds, story: name } = options;
  const script = { bootSeconds: { min: bootSeconds * 0.7, max: bootSeconds * 1.3 } };
  const { temporal } = ground.premises ?? {};
  // `Waits.during` keeps waiting after the demo was interrupted, because an interrupted start of the cluster still has
  // to stop its processes.
  return await waits.during(
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
      onCrash: (crash) => waits.end(crash),
      onRevival: (line) => narrator.say(`  ${line}`),
      signal: waits.signal,
    }),
  );
}

async function tellStory(
  { options, narrator, waits }: Demo,
  site: Site,
  { durations, stopwatch, ground }: Prepared & { ground: Ground },
): Promise<DemoReport> {
  await using props = new AsyncDisposableStack();
  const scene = await setScene(props, { narrator, waits, site, replicas: options.replicas });
  const { fleet, observer, runs } = scene;
  narrator.say(`3/5 Create MachineDeployment "${pool.name}" with ${options.replicas} machines`);
  fleet.start();
  const { replicas } = options;
  const [first, next] = ground.releases;
  await createPool(scene, { ...ground.shape, replicas, release: first }, ground.guestImage);
  durations.create = stopwatch.lap();
  observer.arm();
  narrator.say("4/5 Change the pool: machines are replaced one by one, and the worker is killed during the rollout");
  await changePool(scene, { replicas, releases: ground.releases });
  durations.roll = stopwatch.lap();
  await fleet.stop();
  const observed = await waits.until("the last snapshot of the observer", observer.stop());
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
  { narrator, waits }: Demo,
  site: Site,
  { tools, release }: Pick<Prepared, "tools"> & { release: Release },
): Promise<void> {
  narrator.say(thingsToTry(site, tools, release));
  await waits.until("Ctrl-C", new Promise(() => {}));
}

/**
 * Keeps one line for each tool that is found, is being built, or is being built by another process; `take` updates a
 * line and returns all lines.
 */
export class ToolLines {
  readonly #lines = new Map<string, LiveLine>();

  take({ tool, state, detail, seconds }: ToolProgress): readonly LiveLine[] {
    const isDone = state === "found" || state === "built";
    const text = `${tool.padEnd(24)} ${state}${isDone ? "" : ` ${detail}`}`;
    // The output of a build changes all the time, so the line has it as `aside`, which only a terminal shows.
    const line = state === "building"
      ? { key: tool, text: `${tool.padEnd(24)} building`, aside: ` ${seconds.toFixed(0)} s  ${detail.slice(0, 60)}` }
      : { key: tool, text };
    this.#lines.set(tool, line);
    return [...this.#lines.values()];
  }
}

/**
 * Changes image and kubelet in one patch, kills Ostler's worker process during the rollout, and waits until all
 * machines are replaced.
 */
async function changePool(
  scene: Scene,
  { replicas, releases: [before, after] }: { replicas: number; releases: readonly [Release, Release] },
): Promise<void> {
  const { waits, narrator, runs, api, site } = scene;
  narrator.say(
    `  image ${shortImage(before.image)} → ${shortImage(after.image)}, kubelet ${before.kubelet} → ${after.kubelet}`,
  );
  const patch = { path: poolPath, body: releasePatch(after), contentType: "application/merge-patch+json" };
  await waits.until("the pool to be changed", api.call({ method: "PATCH", ...patch }));
  const runId = await waits.until("the rollout to start", runs.next());
  narrator.say(`  web UI of this run: ${runPage(site.stack.temporal, runId)}`);
  const converged = waits.until("the replacement of all machines", runs.converged(after));
  await Promise.all([converged, killWorker(scene, { replicas, converged })]);
}

/** Returns addresses and commands to try while everything keeps running; the commands are for a POSIX shell. */
export function thingsToTry(
  { stack }: Pick<Site, "stack">,
  tools: { kubectl: string; temporal: string },
  now: Release = nextRelease,
): string {
  const kubectl = `${basename(tools.kubectl)} -n ${pool.namespace}`;
  const temporal = (verb: string): string => `${basename(tools.temporal)} workflow ${verb} --workflow-id ${workflowId}`;
  const release = { ...now, image: now.image.replace(/\d+$/, "3") };
  const request = `--input '{"by": "me", "reason": "trying it out"}'`;
  return [
    "Everything keeps running until Ctrl-C:",
    `  kubeconfig  ${stack.adminKubeconfig}`,
    `  web UI      ${stack.temporal.uiUrl}`,
    `  logs        ${stack.directory}/logs`,
    "Try in another terminal:",
    `  export KUBECONFIG=${stack.adminKubeconfig} TEMPORAL_ADDRESS=${stack.temporal.address}`,
    `  export PATH="${dirname(tools.kubectl)}:${dirname(tools.temporal)}:$PATH"`,
    `  ${kubectl} get rollouts,machines`,
    `  ${temporal("query")} --type progress`,
    `  ${kubectl} patch machinedeployment ${pool.name} --type merge -p '${JSON.stringify(releasePatch(release))}'`,
    `  ${temporal("update execute")} --name pause ${request}`,
    `  ${temporal("update execute")} --name resume ${request}`,
  ].join("\n");
}

const deadMs = 2_000;

/**
 * Returns whether a rollout is in its middle: one machine is replaced and the next new machine boots. In a pool of one
 * machine, the middle is when its new machine boots.
 */
export function isMiddle({ phase, underway, replacements }: Progress, replicas: number): boolean {
  if (phase !== "Rolling" || underway.length === 0) return false;
  // If two machines are already replaced, the middle passed between two snapshots, so any later moment is accepted.
  if (replacements.length >= 2) return true;
  return underway.some(({ step }) => step === "Joining") && replacements.length >= Math.min(1, replicas - 1);
}

/**
 * Kills Ostler's worker process in the middle of the rollout and restarts it after two seconds; rejects if the rollout
 * ends first.
 */
async function killWorker(
  { fleet, waits, narrator, site }: Scene,
  { replicas, converged }: { replicas: number; converged: Promise<unknown> },
): Promise<void> {
  const { worker } = site.ostler;
  const tooLate = converged.then(() => {
    throw new Error(
      "Failed to kill Ostler's worker process in the middle of the rollout: the rollout has already ended",
    );
  });
  const middle = fleet.moment("the middle of the rollout", (progress) => isMiddle(progress, replicas));
  const { underway } = await waits.until("the middle of the rollout", Promise.race([middle, tooLate]));
  const joining = underway.find(({ step }) => step === "Joining") ?? underway[0];
  narrator.say(`  the worker (process ${worker.pid}) is killed with SIGKILL while ${joining?.machine} boots`);
  worker.kill("SIGKILL");
  await waits.until("the worker to exit", worker.exit);
  await waits.until("the time without a worker", pause(deadMs));
  await waits.until("the worker to start again", worker.start(waits.signal));
  narrator.say(`  the worker is restarted (process ${worker.pid}), and the rollout continues`);
}
