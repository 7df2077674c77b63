/**
 * Updates one machine in place: cordon → drain → boot the staged image → wait until it is back → gates and soak →
 * uncordon. A Ready Node proves nothing: proof is another boot, with the desired image, Ready, and with passed gates. A
 * machine in an unknown state keeps its slot, and its deadline decides; a failed machine stays out of service, unless
 * it came back with its previous image or is replaced.
 */
import { sleep } from "@temporalio/workflow";
import type { BootVerdict, Member, Updating } from "../contracts/mod.ts";
import { inPlaceOf } from "../policy/in_place.ts";
import { isOwnRefusal } from "../policy/replaced.ts";
import { spare, updates } from "../proxies.ts";
import { noteStage } from "../state/loop.ts";
import { noteLately } from "../state/machines.ts";
import type { Task } from "../state/tasks.ts";
import { tell, warn } from "../state/rollout.ts";
import { drain, drainEnd } from "./drain.ts";
import { failUpdate } from "./fail_update.ts";
import type { Updated } from "./fail_update.ts";
import { passGates } from "./gates.ts";
import { recordJoin } from "../state/results.ts";
import { begin } from "./tasks.ts";
import { failOrDoom, replace } from "./replace_instead.ts";
import type { Failing } from "./replace_instead.ts";
import { askStaged, messageOf } from "./stage_image.ts";

const minute = 60_000;

/** How long a machine with a slot has to confirm that it is still ready to update (ms). */
const askedAgainMs = 10 * minute;

/** Begins an update, or continues one that an earlier run began. */
export function beginUpdate(rollout: Updated, { id, replaceable }: Member): void {
  const { machines, target: { desired } } = rollout;
  if (!desired) return;
  const { templateHash, image } = desired;
  const refused = replaceable ? { isRefused: true as const } : {};
  const begun: Updating = machines.updating[id] ??= { since: Date.now(), templateHash, image, ...refused };
  const task: Task = {
    ...{ kind: "update", subject: id, node: id, templateHash: begun.templateHash, step: "Draining" },
    ...{ since: begun.since, until: drainEnd(rollout, begun.since), attempt: 0, blockers: [], doubt: "" },
  };
  begin(rollout, task, async () => {
    if (await update(rollout, task, begun) === "Out") begun.isOut = true;
    else delete machines.updating[id];
  });
}

/**
 * Ended: the machine serves, unchanged or updated, or is gone. Out: the update failed and the machine does not serve.
 */
type End = "Ended" | "Out";

async function update(rollout: Updated, task: Task, begun: Updating): Promise<End> {
  if (begun.replacing) return await replaceInstead(rollout, task, begun);
  if (begun.isBack) return await prove(rollout, task, begun);
  const end = await bringBack(rollout, task, begun);
  return end === "Back" ? await prove(rollout, task, begun) : end;
}

async function bringBack(rollout: Updated, task: Task, begun: Updating): Promise<"Back" | End> {
  const end = begun.boot ? "Down" : await bringDown(rollout, task, begun);
  if (end !== "Down") return end;
  const { verdict, evidence } = await awaitBoot(rollout, task, begun);
  if (verdict === "Gone") return await serve(rollout, task);
  if (verdict !== "Updated") return await fail(rollout, task, { begun, verdict, evidence });
  begun.isBack = true;
  return "Back";
}

/** Ends the work on a machine: removes our cordon if the node still exists. */
async function serve({ settings: { pool } }: Pick<Updated, "settings">, { subject }: Task): Promise<"Ended"> {
  await spare(pool, subject);
  return "Ended";
}

/** Returns Down if the machine was ordered to reboot, or runs the image already. */
async function bringDown(rollout: Updated, task: Task, begun: Updating): Promise<"Down" | End> {
  const { image, isRefused: isAskedAgain } = begun;
  if (begun.isOrdering) return await orderBoot(rollout, task, begun);
  // The staged image may be gone, and the running image may have changed: nothing is stopped before both are known.
  const seen = await askStaged(rollout, { ...task, until: Date.now() + askedAgainMs }, { image, isAskedAgain });
  if (seen.outcome === "Booted") return "Down";
  if (seen.outcome === "Gone" || seen.outcome === "Failed") return await serve(rollout, task);
  if (seen.outcome === "Refused" || seen.outcome === "Unknown") {
    const isOwn = seen.outcome === "Refused" && isOwnRefusal(seen.reason);
    const reason = isAskedAgain ? "StageRefused" : "ApplyRefused";
    return await leave(rollout, task, { begun, reason, message: messageOf(seen), isOwn });
  }
  task.since = begun.drainSince ??= Date.now();
  if (await drain(rollout, task, { id: task.subject, node: task.subject }) === "Drained") {
    return await orderBoot(rollout, task, begun);
  }
  return await serve(rollout, task);
}

async function orderBoot(rollout: Updated, task: Task, begun: Updating): Promise<"Down" | End> {
  const { settings: { pool }, view } = rollout;
  const machine = task.subject;
  const { image } = begun;
  begun.isOrdering = true;
  const { boot } = inPlaceOf(rollout.target.rules);
  const until = Date.now() + boot;
  const summary = `Boot ${image.slice(-12)} on ${machine}`;
  const ordered = await updates.awaitBootOrdered.executeWithOptions({ summary }, [{ pool, machine, image, until }]);
  if (ordered.outcome === "Refused") {
    const isOwn = isOwnRefusal(ordered.reason);
    return await leave(rollout, task, { begun, reason: "ApplyRefused", message: messageOf(ordered), isOwn });
  }
  if (ordered.outcome === "Ordered") {
    // The time to boot begins now, as the order may have been delayed.
    begun.boot = { id: ordered.bootId, until: Date.now() + boot };
    tell(view, "BootOrdered", `Booting image "${image}" on node "${machine}"`);
    return "Down";
  }
  if (ordered.outcome === "Rebooted") {
    const message = `Machine "${machine}" rebooted before Ostler ordered a reboot; checking its image`;
    warn(view, "UpdateInterrupted", message);
  }
  return await serve(rollout, task);
}

// Nothing on the machine was changed: it serves as before, unless it is replaced.
async function leave(rollout: Updated, task: Task, failing: Failing): Promise<End> {
  if (await failOrDoom(rollout, task, failing) === "Doomed") return await replaceInstead(rollout, task, failing.begun);
  return await serve(rollout, task);
}

async function replaceInstead(rollout: Updated, task: Task, begun: Updating): Promise<End> {
  if (await replace(rollout, task, begun) === "Gone") return "Ended";
  // A machine that was ordered to reboot may still do so.
  return begun.boot ? "Out" : await serve(rollout, task);
}

/** Waits until the machine is back; the time in which the API was unavailable does not count. */
async function awaitBoot(rollout: Updated, task: Task, begun: Updating): Promise<BootVerdict> {
  const { settings: { pool }, loop } = rollout;
  const machine = task.subject;
  const boot = begun.boot ?? { id: "", until: Date.now() + inPlaceOf(rollout.target.rules).boot };
  noteStage(loop);
  for (;;) {
    Object.assign(task, { step: "Rebooting", until: boot.until, blockers: [] });
    const summary = boot.id === "" ? `Check what ${machine} runs` : `Wait for ${machine} to boot`;
    const input = { pool, machine, image: begun.image, bootId: boot.id, until: boot.until };
    const seen = await updates.awaitNodeBooted.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) return seen;
    boot.until += seen.unseenMs;
  }
}

const reasons = {
  RolledBack: "UpdateRolledBack",
  NotReady: "UpdateNotReady",
  NotBooted: "UpdateNotBooted",
  Lost: "UpdateLost",
} as const;

async function fail(
  rollout: Updated,
  task: Task,
  { begun, verdict, evidence }: { begun: Updating; verdict: keyof typeof reasons; evidence: string },
): Promise<End> {
  // A machine that went back to its previous image shows that the new image is bad, and serves.
  const isOwn = verdict !== "RolledBack";
  const failing: Failing = { begun, reason: reasons[verdict], message: evidence, isOwn };
  if (await failOrDoom(rollout, task, failing) === "Doomed") return await replaceInstead(rollout, task, begun);
  // Any other machine stays out of service, as it may still boot.
  return isOwn ? "Out" : await serve(rollout, task);
}

/** Evaluates the gates, and soaks; after the soak the machine must be unchanged. */
async function prove(rollout: Updated, task: Task, begun: Updating): Promise<End> {
  const { machines, target } = rollout;
  const { subject: machine, templateHash } = task;
  const { image, since, soakUntil } = begun;
  // The desired image changed: the machine stays in service, and is updated again in its turn.
  if (templateHash !== target.desired?.templateHash) return await serve(rollout, task);
  Object.assign(task, { step: "Gates" });
  noteStage(rollout.loop);
  const asked = { run: "EachMachine" as const, key: `${templateHash} ${machine}`, machine, node: machine };
  const failed = (soakUntil === undefined ? await passGates(rollout, task, asked) : undefined) ??
    await soak(rollout, task, begun);
  if (failed !== undefined) {
    await failUpdate(rollout, task, { image, reason: "GatesFailed", message: failed });
    return "Out";
  }
  await serve(rollout, task);
  noteLately(machines, machine, { is: "Updated", templateHash, at: Date.now() });
  machines.booting[machine] = { since, attempt: 0 };
  recordJoin(rollout, { machine, node: machine, image, kubelet: "", readyAt: Date.now() });
  tell(rollout.view, "MachineUpdated", `Machine "${machine}" runs image "${image}"`);
  return "Ended";
}

/** Returns what is wrong at the end of the soak; undefined if nothing is, or if the machine is gone. */
async function soak(rollout: Updated, task: Task, begun: Updating): Promise<string | undefined> {
  const { settings: { pool }, loop, target } = rollout;
  const ms = inPlaceOf(target.rules).soak;
  if (ms === 0) return undefined;
  const until = begun.soakUntil ??= Date.now() + ms;
  if (until > Date.now()) {
    Object.assign(task, { step: "Soaking", until });
    noteStage(loop);
    await sleep(until - Date.now(), { summary: `Soak ${task.subject}` });
  }
  const summary = `Check ${task.subject} after its soak`;
  for (;;) {
    const input = { pool, machine: task.subject, image: begun.image, bootId: "", until: Date.now() + minute };
    const seen = await updates.awaitNodeBooted.executeWithOptions({ summary }, [input]);
    if ("unseenMs" in seen) continue;
    const isWell = seen.verdict === "Updated" || seen.verdict === "Gone";
    return isWell ? undefined : `after its soak: ${seen.evidence}`;
  }
}
