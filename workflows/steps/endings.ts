/** How a run ends, and what it says then. */
import { sleep } from "@temporalio/workflow";
import type { Desired, Phase, PoolSnapshot, RollOutResult } from "../contracts/mod.ts";
import { spare } from "../machine/remove_machine.ts";
import { callOff } from "../machine/tasks.ts";
import { read, write } from "../proxies.ts";
import { type Part, type Seen, type Telling, warn } from "../state/rollout.ts";
import { historyEntry, report, stand } from "../status/report.ts";
import { questionOf } from "./plan.ts";
import { giveBackSlots } from "../machine/slots.ts";
import { troubleOf } from "../state/trouble.ts";

/** Everything runs what is desired: says so, and remembers the template whose machines need no admission. */
export async function converge(
  rollout: Telling & Part<"slots" | "memory" | "waves">,
  desired: Desired,
): Promise<RollOutResult> {
  const { memory, waves, target } = rollout;
  await giveBackSlots(rollout, true);
  if (memory.rollback) return await arriveBack(rollout, desired);
  if (memory.lastRollback && memory.lastGood?.specHash === desired.specHash) return await stayBack(rollout, desired);
  const { lastGood, lastRollback } = memory;
  memory.lastRollback = null;
  const { specHash, templateHash, revision, image, kubelet } = desired;
  const configDigest = target.rendering?.configDigest ?? "";
  // Scaling and repair are no rollouts: they are not for the history.
  const isNews = waves.rolled || lastGood?.configDigest !== configDigest;
  memory.lastGood = { specHash, templateHash, revision, image, kubelet, configDigest };
  try {
    await report(rollout, { phase: "Converged", ...convergedText(desired) }, {
      convergedTemplateHash: templateHash,
      ...(isNews ? { history: historyEntry(rollout, "Converged") } : {}),
    });
  } catch (error) {
    Object.assign(memory, { lastGood, lastRollback }); // else it would be no news when it can be told
    throw error;
  }
  waves.rolled = false; // it is told: who calls now has a round begun that is no rollout
  return ended(rollout, "Converged");
}

/** The run stops where it is, by a person's word, where there is nothing to go back to. */
export async function endAborted(
  rollout: Telling & Part<"slots" | "machines">,
  by: string,
  reason: string,
): Promise<RollOutResult> {
  await releaseAll(rollout);
  await giveBackSlots(rollout, true);
  const message = `Aborted by ${by}${reason ? ` (${reason})` : ""}; machines stay unchanged`;
  warn(rollout.view, "RolloutAborted", message);
  await report(rollout, { phase: "Aborted", reason: "Aborted", message });
  return ended(rollout, "Aborted");
}

/** The MachineDeployment is going: so does everything that was made for it. */
export async function cleanUp(rollout: Telling & Part<"tasks" | "slots" | "target">): Promise<RollOutResult> {
  const { settings: { pool }, tasks, target } = rollout;
  callOff(tasks, () => true);
  stand(rollout, { phase: "Deleting", reason: "Deleting", message: "Deleting all objects created for this pool" });
  await giveBackSlots(rollout, true);
  await write.ensurePoolCleanedUp.executeWithOptions({ summary: "Delete config, secrets and holds" }, [{ pool }]);
  target.cleanedUp = true;
  return ended(rollout, "Deleted");
}

/** Lets in what came while local steps ran, which nobody would answer in a run that has ended. */
export async function hearLast(): Promise<void> {
  await sleep(1, { summary: "Receive pending signals and updates" });
}

/** The MachineDeployment is gone: nothing is left to be done. */
export async function endGone(rollout: Seen & Part<"tasks" | "slots">): Promise<RollOutResult> {
  callOff(rollout.tasks, () => true);
  await giveBackSlots(rollout, true);
  await hearLast();
  return ended(rollout, rollout.target.cleanedUp ? "Deleted" : "Gone");
}

/** The pool stays as the cancelled rollout left it; a real change meanwhile makes this a rollout like any other. */
export async function renewOnly(rollout: Telling): Promise<RollOutResult> {
  const message = "The rollout stays cancelled; only the credentials were renewed";
  await report(rollout, { phase: "Aborted", reason: "CredentialsRenewed", message });
  return ended(rollout, "Published");
}

/** Cancelled in Temporal: leaves no hold on a machine that runs, and says what stands where. */
export async function stop(rollout: Telling & Part<"target" | "tasks" | "slots" | "machines">): Promise<void> {
  const { tasks, view, memory: { lastGood, rollback } } = rollout;
  callOff(tasks, () => true);
  try {
    await seeTarget(rollout);
    await releaseAll(rollout);
    await giveBackSlots(rollout, true);
    const message = "Cancelled; machines not yet admitted stay held, and old machines stay";
    warn(view, "RolloutAborted", message);
    // On the way back every newcomer is held; nobody would admit those of the good template any more.
    const news = rollback && lastGood ? { convergedTemplateHash: lastGood.templateHash } : {};
    await report(rollout, { phase: "Aborted", reason: "Cancelled", message }, news);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    // A cancelled run ends as cancelled; what could not be taken back is found again by the next one.
    const why = "message" in trouble ? trouble.message : "the pool was deleted";
    stand(rollout, { phase: "Aborted", reason: "Cancelled", message: `Cancelled; holds may remain: ${why}` });
  }
}

// A run that goes on after another one may be cancelled before its first look, with the other's holds in place.
async function seeTarget({ settings: { pool }, target }: Seen<"settings"> & Part<"target">): Promise<void> {
  if (target.desired && target.rules) return;
  const seen = await read.readDesired.executeWithOptions({ summary: "Read the desired state" }, [{ pool }]);
  if (seen.state !== "Present") return;
  target.desired = seen.desired;
  target.rules = seen.rules;
}

/** Of each group an answer names more than so many before it is cut. */
const namedAtLeast = 50;

/** Looks at a pool that has more than one look names: enough for 10,000 machines. */
const looksAtMost = 100;

/** Takes back every mark and hold of machines that run; one that is leaving is left to machine-controller. */
export async function releaseAll(
  rollout: Seen<"settings" | "target"> & Part<"machines">,
  letGo = true,
): Promise<void> {
  const { settings, target: { desired, rules }, machines } = rollout;
  if (!desired || !rules) return;
  const question = { ...questionOf(rollout, desired, rules), limit: 1000 };
  const known = new Set<string>();
  for (let looks = 1;; looks++) {
    const pool = await read.readPool.executeWithOptions({ summary: "Read held machines" }, [question]);
    // On the way back one that failed is not let serve what it failed with.
    const updating = letGo ? Object.keys(machines.updating) : [];
    const found = [...new Set([...boundIn(pool, machines), ...updating])].filter((machine) => !known.has(machine));
    await Promise.all(found.map((machine) => spare(settings.pool, machine, { letGo })));
    for (const machine of found) known.add(machine);
    machines.draining = {};
    if (found.length <= namedAtLeast || looks >= looksAtMost) return;
  }
}

/** Machines that bear something of ours, as far as they are named. */
function boundIn(pool: PoolSnapshot, { draining }: Part<"machines">["machines"]): string[] {
  const all = [...pool.old, ...pool.stale, ...pool.leaving];
  const ours = all.filter(({ phase, marked, held }) => phase !== "Held" && (marked || held)).map(({ id }) => id);
  // One that is drained because it is unhealthy, and not leaving yet, bears nothing but a cordon.
  const cordoned = Object.keys(draining).filter((machine) => !pool.leaving.some(({ id }) => id === machine));
  return [...new Set([...ours, ...cordoned])];
}

/** The result of a run. */
function ended(
  { target: { desired, rendering }, records }: Seen<"target" | "records">,
  outcome: RollOutResult["outcome"],
): RollOutResult {
  const { replaced, joins, replacements } = records;
  if (!desired || !rendering) return { outcome, replaced, joins, replacements };
  const { generation, revision, image, kubelet } = desired;
  const { configDigest } = rendering;
  return { outcome, generation, revision, image, kubelet, configDigest, replaced, joins, replacements };
}

function convergedText({ replicas, revision }: Desired): { reason: string; message: string } {
  if (replicas === 0) return { reason: "ScaledToZero", message: "Scaled to zero machines; secrets are published" };
  return { reason: "Converged", message: `All ${replicas} machines run revision ${revision}` };
}

/** The way back is at its end. */
async function arriveBack(rollout: Telling & Part<"memory" | "waves">, desired: Desired): Promise<RollOutResult> {
  const { memory, waves, view } = rollout;
  const outcome = memory.rollback?.kind === "Abort" ? "Aborted" : "RolledBack";
  const history = historyEntry(rollout, outcome);
  const { text, phase } = backText(rollout, desired);
  memory.lastRollback = memory.rollback;
  warn(view, outcome === "Aborted" ? "RolloutAborted" : "RolledBack", text);
  const news = { convergedTemplateHash: desired.templateHash, history };
  await report(rollout, { phase, reason: phase, message: text }, news);
  // Not before it stands in the history: an outage in between would lose it.
  memory.rollback = null;
  waves.rolled = false;
  return ended(rollout, outcome);
}

/** Nothing but scaling, repair or renewal happened since the pool went back: that is still what people have to know. */
async function stayBack(rollout: Telling, desired: Desired): Promise<RollOutResult> {
  const { text, phase } = backText(rollout, desired);
  await report(rollout, { phase, reason: phase, message: text }, { convergedTemplateHash: desired.templateHash });
  return ended(rollout, phase === "Aborted" ? "Aborted" : "RolledBack");
}

function backText({ memory }: Seen<"memory">, { image, replicas }: Desired): { text: string; phase: Phase } {
  const back = memory.rollback ?? memory.lastRollback;
  const why = back?.reason ? `: ${back.reason}` : "";
  const how = back?.kind === "Abort" ? `aborted by ${back.by}` : "rolled back";
  const text = `All ${replicas} machines run ${image} again; revision ${back?.bad.revision} was ${how}${why}`;
  return { text, phase: back?.kind === "Abort" ? "Aborted" : "RolledBack" };
}
