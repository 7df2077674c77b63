import { nextVersion } from "../../../installation/versions.ts";
import { poolPath, releasePatch } from "../../pool_objects.ts";
import { shortImage } from "../../machine_board.ts";
import type { Play } from "../story.ts";
import { bootSeconds, installationOf, untilWhole } from "./home.ts";
import { isAdmitted } from "../../../installation/is_admitted.ts";
import type { Pod } from "../../../installation/ostler_pods.ts";
import { setTimeout as pause } from "node:timers/promises";
import { stepsBegun } from "../traces.ts";

/** One rollout in three waves; each is let go by a person once the trouble of its time is over. */
export async function rollThroughTrouble(play: Play): Promise<void> {
  const { cluster, narrator, ground, rollout, checks } = play;
  const [, next] = ground.releases;
  await cluster.patch(poolPath, releasePatch(next));
  narrator.say(`  the image is changed to ${shortImage(next.image)}, the kubelet to ${next.kubelet}`);
  await underWay(play, 1);
  await cutTemporal(play);
  await changeLeader(play);
  await endOfWave(play, 1);

  const before = await giveNewAccess(play);
  await rollout.ask("promote", {});
  await underWay(play, 2);
  await drainAHome(play);
  await retireOldAccess(play, before);
  await replaceAllPods(play);
  await endOfWave(play, 2);

  const upgraded = upgrade(play);
  await rollout.ask("promote", {});
  await Promise.all([upgraded, rollout.converged(next, bootSeconds)]);
  const done = await rollout.status();
  checks.equal("all machines are new", { seen: done.updated, wanted: "3/3" });
  await untilWhole(play);
}

/** Trouble begins while a machine is made. */
async function underWay({ rollout }: Play, wave: number): Promise<void> {
  await rollout.until(`machine ${wave} under way`, ({ phase, updated, underway = [] }) => {
    return phase === "Rolling" && Number.parseInt(updated ?? "0") < wave && underway.length > 0;
  }, bootSeconds);
}

async function endOfWave({ rollout, checks, options }: Play, wave: number): Promise<void> {
  const isOver = `wave ${wave} to be over`;
  const soaking = await rollout.until(isOver, ({ reason, updated }) => {
    return reason === "Soaking" && updated === `${wave}/3`;
  }, bootSeconds + options.cutSeconds);
  checks.equal(`wave ${wave} came to its end in spite of it`, { seen: soaking.updated, wanted: `${wave}/3` });
}

async function upgrade(play: Play): Promise<void> {
  const { narrator, stage, checks } = play;
  const installation = installationOf(play);
  narrator.say(`  a new version of Ostler comes: helm upgrade to ${nextVersion}`);
  await stage.until("the new version", installation.upgrade(nextVersion));
  const versions = new Set((await installation.pods.all()).map(({ version }) => version));
  checks.equal("all pods are of the new version", { seen: [...versions].join(), wanted: nextVersion });
}

/** Kubelets look at Secrets about once a minute, and processes at their files every ten seconds. */
const arrivalSeconds = 180;

/** What a process says that goes on by them. */
const connectedAnew = "Connected to Temporal with what lets us in now";

/** The names of the pods that have to take the new ones as they run: who stands by is not connected. */
type Before = readonly string[];

/** Secrets change while what they had still counts: certificate, key and CA for Temporal, and where notices go. */
async function giveNewAccess(play: Play): Promise<Before> {
  const { narrator, stage } = play;
  const installation = installationOf(play);
  const leader = await installation.pods.leader();
  const isConnected = ({ name, process }: Pod): boolean => process === "worker" || name === leader;
  const before = (await installation.pods.all()).filter(isConnected).map(({ name }) => name);
  narrator.say("  certificate, key and CA for Temporal change in their Secrets, and the address of the notices");
  installation.notices.moveOn();
  await stage.until("the Secrets", installation.give(await installation.temporal.nextAccess()));
  return before;
}

/** Once every process has connected anew, the old certificate is refused. */
async function retireOldAccess(play: Play, before: Before): Promise<void> {
  const { cluster, narrator, stage, checks } = play;
  const installation = installationOf(play);
  const { temporal, pods } = installation;
  const left = await cluster.until("all processes to connect anew", async () => {
    const names = (await pods.all()).map(({ name }) => name).filter((name) => before.includes(name));
    const said = await Promise.all(names.map((name) => installation.hasSaid(name, connectedAnew)));
    return temporal.isReached && !said.includes(false) && names;
  }, arrivalSeconds);
  checks.add({ name: "processes connected anew as they ran", ok: left.length > 0, detail: left.join(", ") });
  narrator.say("  the old CA counts no more");
  await stage.until("the old CA to go", temporal.retire());
  const [old, next] = [await temporal.oldAccess(), await temporal.nextAccess()];
  const seen = [await isAdmitted(temporal.address, old), await isAdmitted(temporal.address, next)];
  checks.equal("the old certificate is refused, the new one lets in", { seen, wanted: [false, true] });
}

/** The pod of the leader goes, and another controller leads. */
async function changeLeader(play: Play): Promise<void> {
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
async function cutTemporal(play: Play): Promise<void> {
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
async function drainAHome(play: Play): Promise<void> {
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
async function replaceAllPods(play: Play): Promise<void> {
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
