import { setTimeout as pause } from "node:timers/promises";
import type { Play } from "../story.ts";
import { stepsBegun } from "../traces.ts";
import { installationOf, untilWhole } from "./home.ts";

/** The pod of the leader goes, and another controller leads. */
export async function changeLeader(play: Play): Promise<void> {
  const { cluster, narrator, checks } = play;
  const { pods } = installationOf(play);
  const before = await cluster.until("a leader", () => pods.leader());
  narrator.say(`  the leader goes: pod "${before}" is deleted`);
  await pods.remove(before);
  const after = await cluster.until("another leader", async () => {
    const now = await pods.leader();
    return now !== before && now;
  });
  checks.add({ name: "another controller leads", ok: true, detail: after });
}

/** What a step may still do that had begun when Temporal went. */
const inFlightMs = 5_000;

/** Nobody reaches Temporal for a while. */
export async function cutTemporal(play: Play): Promise<void> {
  const { cluster, narrator, stage, checks, options: { cutSeconds } } = play;
  const { temporal, pods } = installationOf(play);
  const passed = (ms: number): Promise<void> =>
    stage.until("Temporal to be missed", pause(ms, undefined, { signal: stage.signal }));
  const stood = await pods.starts();
  temporal.cut(true);
  narrator.say(`  Temporal is cut off for ${cutSeconds} s`);
  await passed(inFlightMs);
  const begun = await stepsBegun(cluster);
  await passed(cutSeconds * 1000 - inFlightMs);
  checks.equal("no machine is let go or given up meanwhile", { seen: await stepsBegun(cluster), wanted: begun });
  temporal.cut(false);
  checks.equal("without Temporal no process ends", { seen: await pods.starts(), wanted: stood });
  await untilWhole(play);
}

/** The node of a worker is drained as an administrator does it, and is taken back. */
export async function drainAHome(play: Play): Promise<void> {
  const { narrator, stage, checks } = play;
  const installation = installationOf(play);
  const node = (await installation.pods.all()).find(({ process }) => process === "worker")?.node ?? "";
  narrator.say(`  node "${node}", where Ostler lives, is drained`);
  const flags = "--ignore-daemonsets --delete-emptydir-data --timeout=180s";
  await stage.until("the drain", installation.run(`kubectl drain ${node} ${flags}`));
  await untilWhole(play);
  const left = (await installation.pods.all()).filter((pod) => pod.node === node);
  checks.equal("none of its pods is left there, and all stand elsewhere", { seen: left.length, wanted: 0 });
  await installation.run(`kubectl uncordon ${node}`);
}

/** Every pod is deleted, one after the other. */
export async function replaceAllPods(play: Play): Promise<void> {
  const { narrator, checks } = play;
  const { pods } = installationOf(play);
  const before = (await pods.all()).map(({ name }) => name);
  narrator.say(`  every process is started anew: ${before.length} pods are deleted, one after the other`);
  for (const name of before) {
    await pods.remove(name);
    await untilWhole(play);
  }
  const left = (await pods.all()).filter(({ name }) => before.includes(name));
  checks.equal("every process was started anew", { seen: left.length, wanted: 0 });
}
