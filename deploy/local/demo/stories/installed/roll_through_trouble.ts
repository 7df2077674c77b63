import { nextVersion } from "../../../installation/versions.ts";
import { poolPath, releasePatch } from "../../pool_objects.ts";
import { shortImage } from "../../machine_board.ts";
import type { StoryScene } from "../story.ts";
import { bootSeconds, installationOf, untilWhole } from "./home.ts";
import { isAdmitted } from "../../../installation/is_admitted.ts";
import type { Pod } from "../../../installation/ostler_pods.ts";
import { setTimeout as pause } from "node:timers/promises";
import { stepsBegun } from "../traces.ts";

/** Plays one rollout in three waves; the administrator promotes a wave when the failures during it are over. */
export async function rollThroughTrouble(scene: StoryScene): Promise<void> {
  const { cluster, narrator, ground, rollout, checks } = scene;
  const [, next] = ground.releases;
  await cluster.patch(poolPath, releasePatch(next));
  narrator.say(`  the pool changes to image ${shortImage(next.image)} and kubelet ${next.kubelet}`);
  await underWay(scene, 1);
  await cutTemporal(scene);
  await changeLeader(scene);
  await endOfWave(scene, 1);

  const before = await giveNewAccess(scene);
  await rollout.ask("promote", {});
  await underWay(scene, 2);
  await drainAHome(scene);
  await retireOldAccess(scene, before);
  await replaceAllPods(scene);
  await endOfWave(scene, 2);

  const upgraded = upgrade(scene);
  await rollout.ask("promote", {});
  await Promise.all([upgraded, rollout.converged(next, bootSeconds)]);
  const done = await rollout.status();
  checks.equal("updated machines", { seen: done.updated, wanted: "3/3" });
  await untilWhole(scene);
}

/** Waits until a machine of the wave is being created, so that the next failures occur while it is created. */
async function underWay({ rollout }: StoryScene, wave: number): Promise<void> {
  await rollout.until(`the start of machine ${wave}`, ({ phase, updated, underway = [] }) => {
    return phase === "Rolling" && Number.parseInt(updated ?? "0") < wave && underway.length > 0;
  }, bootSeconds);
}

async function endOfWave({ rollout, checks, options }: StoryScene, wave: number): Promise<void> {
  const isOver = `the end of wave ${wave}`;
  const soaking = await rollout.until(isOver, ({ reason, updated }) => {
    return reason === "Soaking" && updated === `${wave}/3`;
  }, bootSeconds + options.cutSeconds);
  checks.equal(`wave ${wave} ended despite the failures`, { seen: soaking.updated, wanted: `${wave}/3` });
}

async function upgrade(scene: StoryScene): Promise<void> {
  const { narrator, waits, checks } = scene;
  const installation = installationOf(scene);
  narrator.say(`  Ostler is upgraded with helm to version ${nextVersion}`);
  await waits.until("the upgrade of Ostler", installation.upgrade(nextVersion));
  const versions = new Set((await installation.pods.all()).map(({ version }) => version));
  checks.equal("versions of the pods", { seen: [...versions].join(), wanted: nextVersion });
}

/**
 * Enough time for new Secrets to arrive: kubelets read Secrets about once a minute, and processes read their files
 * every ten seconds.
 */
const arrivalSeconds = 180;

/** The log line of a process that uses the new credentials. */
const connectedAnew = "Connected to Temporal with reloaded credentials";

/**
 * The names of the pods that were connected to Temporal before the change of the credentials; these pods must reload
 * them without a restart. Standby pods are not connected.
 */
type Before = readonly string[];

/**
 * Changes the certificate, key and CA for Temporal, and the address of the webhook for notifications, in their Secrets.
 * The old certificate stays valid, the old address does not. Returns the names of the pods that were connected to
 * Temporal before the change.
 */
async function giveNewAccess(scene: StoryScene): Promise<Before> {
  const { narrator, waits } = scene;
  const installation = installationOf(scene);
  const leader = await installation.pods.leader();
  const isConnected = ({ name, process }: Pod): boolean => process === "worker" || name === leader;
  const before = (await installation.pods.all()).filter(isConnected).map(({ name }) => name);
  narrator.say("  the Secrets get a new certificate, key and CA for Temporal, and a new address for notifications");
  installation.notices.moveOn();
  await waits.until("the Secrets to be updated", installation.give(await installation.temporal.nextAccess()));
  return before;
}

/** Retires the old CA after every process has reconnected, and checks that the old certificate is refused. */
async function retireOldAccess(scene: StoryScene, before: Before): Promise<void> {
  const { cluster, narrator, waits, checks } = scene;
  const installation = installationOf(scene);
  const { temporal, pods } = installation;
  const left = await cluster.until("the reconnection of all processes", async () => {
    const names = (await pods.all()).map(({ name }) => name).filter((name) => before.includes(name));
    const said = await Promise.all(names.map((name) => installation.hasSaid(name, connectedAnew)));
    return temporal.isReached && !said.includes(false) && names;
  }, arrivalSeconds);
  checks.add({ name: "processes reconnected without a restart", ok: left.length > 0, detail: left.join(", ") });
  narrator.say("  the old CA is retired");
  await waits.until("the old CA to be retired", temporal.retire());
  const [old, next] = [await temporal.oldAccess(), await temporal.nextAccess()];
  const seen = [await isAdmitted(temporal.address, old), await isAdmitted(temporal.address, next)];
  checks.equal("whether Temporal accepts the old and the new certificate", { seen, wanted: [false, true] });
}

/** Deletes the pod of the leader, and waits until another controller leads. */
async function changeLeader(scene: StoryScene): Promise<void> {
  const { cluster, narrator, checks } = scene;
  const { pods } = installationOf(scene);
  const before = await cluster.until("a leader", () => pods.leader());
  narrator.say(`  the pod of the leader, "${before}", is deleted`);
  await pods.remove(before);
  const after = await cluster.until("another leader", async () => {
    const now = await pods.leader();
    return now !== before && now;
  });
  checks.add({ name: "another controller leads", ok: true, detail: after });
}

/** Time in which activities that ran when Temporal was disconnected can still have an effect. */
const inFlightMs = 5_000;

/**
 * Makes Temporal unreachable for `cutSeconds`, and checks that in that time the rollout admits and releases no machine,
 * and that no pod restarts.
 */
async function cutTemporal(scene: StoryScene): Promise<void> {
  const { cluster, narrator, waits, checks, options: { cutSeconds } } = scene;
  const { temporal, pods } = installationOf(scene);
  const passed = (ms: number): Promise<void> =>
    waits.until("the outage of Temporal", pause(ms, undefined, { signal: waits.signal }));
  const stood = await pods.starts();
  temporal.cut(true);
  narrator.say(`  Temporal is disconnected for ${cutSeconds} s`);
  await passed(inFlightMs);
  const begun = await stepsBegun(cluster);
  await passed(cutSeconds * 1000 - inFlightMs);
  checks.equal("machines admitted or released by the rollout, the same at the end of the outage as near its start", {
    seen: await stepsBegun(cluster),
    wanted: begun,
  });
  temporal.cut(false);
  checks.equal("pods keep running without Temporal", { seen: await pods.starts(), wanted: stood });
  await untilWhole(scene);
}

/** Drains the node of one pod of Ostler's worker with kubectl, and uncordons the node afterwards. */
async function drainAHome(scene: StoryScene): Promise<void> {
  const { narrator, waits, checks } = scene;
  const installation = installationOf(scene);
  const node = (await installation.pods.all()).find(({ process }) => process === "worker")?.node ?? "";
  narrator.say(`  node "${node}", which runs pods of Ostler, is drained`);
  const flags = "--ignore-daemonsets --delete-emptydir-data --timeout=180s";
  await waits.until("the drain", installation.run(`kubectl drain ${node} ${flags}`));
  await untilWhole(scene);
  const left = (await installation.pods.all()).filter((pod) => pod.node === node);
  checks.equal("pods of Ostler left on the drained node", { seen: left.length, wanted: 0 });
  await installation.run(`kubectl uncordon ${node}`);
}

/** Deletes every pod of Ostler, one after another; after each, waits until all pods are Ready again. */
async function replaceAllPods(scene: StoryScene): Promise<void> {
  const { narrator, checks } = scene;
  const { pods } = installationOf(scene);
  const before = (await pods.all()).map(({ name }) => name);
  narrator.say(`  all ${before.length} pods of Ostler are deleted, one after another`);
  for (const name of before) {
    await pods.remove(name);
    await untilWhole(scene);
  }
  const left = (await pods.all()).filter(({ name }) => before.includes(name));
  checks.equal("pods that were not replaced", { seen: left.length, wanted: 0 });
}
