/**
 * Updates one machine in place: cordon → drain → boot the staged image → wait until it is back → gates and soak →
 * uncordon. A Ready Node alone proves nothing: the machine must have booted again, run the desired image, be Ready, and
 * pass its gates. A machine in an unknown state keeps its slot, and counts as failed at its deadline; a failed machine
 * stays out of service, unless it came back with its previous image or is replaced.
 */
import { sleep } from "@temporalio/workflow";
import type { BootVerdict, Member, Updating } from "../contracts/mod.ts";
import { inPlaceOf } from "../policy/in_place.ts";
import { isOwnRefusal } from "../policy/replaced.ts";
import { spare, updates } from "../proxies.ts";
import { startClock } from "../state/clock.ts";
import { ensureUpdating } from "../state/machines.ts";
import type { UpdateOutcome } from "../state/outcomes.ts";
import type { Task } from "../state/tasks.ts";
import { drain, drainEnd } from "./drain.ts";
import { failUpdate } from "./fail_update.ts";
import { passGates } from "./gates.ts";
import { beginDrain, type Failing, failOrDoom, replace } from "./replace_instead.ts";
import { askStaged, messageOf } from "./stage_image.ts";
import type { Job, Work, Worked } from "./work.ts";

const minute = 60_000;

/** How long a machine with a slot has to confirm that it is still ready to update (ms). */
const askedAgainMs = 10 * minute;

/**
 * Prepares a task that begins an update, or continues one that an earlier run began; undefined while the desired state
 * is unknown.
 */
export function prepareUpdate({ settings, target, ...timed }: Worked, { id, replaceable }: Member): Job | undefined {
  const { desired } = target;
  if (!desired) return undefined;
  startClock(timed, id);
  const { templateHash, image } = desired;
  const refused = replaceable ? { isRefused: true as const } : {};
  const begun = ensureUpdating(timed.machines, id, { templateHash, image, ...refused });
  const task: Task = {
    ...{ kind: "update", subject: id, node: id, templateHash: begun.templateHash, step: "Draining" },
    ...{ since: begun.since, until: drainEnd({ settings, target }, begun.since), attempt: 0, blockers: [], doubt: "" },
  };
  return { task, run: (work) => update(work, begun) };
}

/** The record of an update, which only the events of its task change. */
type Begun = Readonly<Updating>;

async function update(work: Work, begun: Begun): Promise<UpdateOutcome> {
  if (begun.replacing) return await replaceInstead(work, begun);
  if (begun.isBack) return await prove(work, begun);
  const end = await bringBack(work, begun);
  return end === "Back" ? await prove(work, begun) : end;
}

async function bringBack(work: Work, begun: Begun): Promise<"Back" | UpdateOutcome> {
  const end = begun.boot ? "Down" : await bringDown(work, begun);
  if (end !== "Down") return end;
  const { verdict, evidence } = await awaitBoot(work, begun);
  if (verdict === "Gone") return await serve(work);
  if (verdict !== "Updated") return await fail(work, { begun, verdict, evidence });
  work.note({ is: "CameBack" });
  return "Back";
}

/** Ends the work on a machine: removes Ostler's cordon if the node still exists. */
async function serve({ settings: { pool }, task: { subject } }: Work): Promise<UpdateOutcome> {
  await spare(pool, subject);
  return { is: "Ended" };
}

/**
 * Checks, drains and reboots the machine. Returns Down if it was ordered to reboot or runs the image already, otherwise
 * how the update ended.
 */
async function bringDown(work: Work, begun: Begun): Promise<"Down" | UpdateOutcome> {
  const { image, isRefused: isAskedAgain } = begun;
  if (begun.isOrdering) return await orderBoot(work, begun);
  // The staged image may be gone, and the running image may have changed, so both are checked before anything is
  // stopped.
  const seen = await askStaged(work, { image, until: Date.now() + askedAgainMs, isAskedAgain });
  if (seen.outcome === "Booted") return "Down";
  if (seen.outcome === "Gone" || seen.outcome === "Failed") return await serve(work);
  if (seen.outcome === "Refused" || seen.outcome === "Unknown") {
    const isOwn = seen.outcome === "Refused" && isOwnRefusal(seen.reason);
    const reason = isAskedAgain ? "StageRefused" : "ApplyRefused";
    return await leave(work, { begun, reason, message: messageOf(seen), isOwn });
  }
  beginDrain(work, begun);
  if (await drain(work, work.task.subject) === "Drained") return await orderBoot(work, begun);
  return await serve(work);
}

async function orderBoot(work: Work, begun: Begun): Promise<"Down" | UpdateOutcome> {
  const { settings: { pool }, target, task: { subject: machine }, note } = work;
  const { image } = begun;
  note({ is: "BootOrdering" });
  const { boot } = inPlaceOf(target.rules);
  const until = Date.now() + boot;
  const summary = `Boot image ${image.slice(-12)} on ${machine}`;
  const ordered = await updates.awaitBootOrdered.executeWithOptions({ summary }, [{ pool, machine, image, until }]);
  if (ordered.outcome === "Refused") {
    const isOwn = isOwnRefusal(ordered.reason);
    return await leave(work, { begun, reason: "ApplyRefused", message: messageOf(ordered), isOwn });
  }
  if (ordered.outcome === "Ordered") {
    // The deadline of the boot counts from now, because the order may have been delayed.
    note({ is: "BootOrdered", boot: { id: ordered.bootId, until: Date.now() + boot } });
    const message = `Booting image "${image}" on node "${machine}"`;
    note({ is: "Told", news: { type: "Normal", reason: "BootOrdered", message } });
    return "Down";
  }
  if (ordered.outcome === "Rebooted") {
    const message = `Machine "${machine}" rebooted before Ostler ordered a reboot; checking its image`;
    note({ is: "Told", news: { type: "Warning", reason: "UpdateInterrupted", message } });
  }
  return await serve(work);
}

// Records a failure before the reboot: nothing on the machine was changed, so it returns to service unless it is
// replaced.
async function leave(work: Work, failing: Failing): Promise<UpdateOutcome> {
  if (await failOrDoom(work, failing) === "Doomed") return await replaceInstead(work, failing.begun);
  return await serve(work);
}

async function replaceInstead(work: Work, begun: Begun): Promise<UpdateOutcome> {
  if (await replace(work, begun) === "Gone") return { is: "Replaced" };
  // A machine that was ordered to reboot may still reboot, so it stays out of service.
  return begun.boot ? { is: "Out" } : await serve(work);
}

/** Waits until the machine is back; the time in which the API was unavailable does not count. */
async function awaitBoot({ settings: { pool }, target, task, note }: Work, begun: Begun): Promise<BootVerdict> {
  const machine = task.subject;
  const bootId = begun.boot?.id ?? "";
  let until = begun.boot?.until ?? Date.now() + inPlaceOf(target.rules).boot;
  note({ is: "Stepped", step: "Rebooting", until });
  const summary = bootId === "" ? `Check which image ${machine} runs` : `Wait for ${machine} to boot`;
  for (;;) {
    const input = { pool, machine, image: begun.image, bootId, until };
    const seen = await updates.awaitNodeBooted.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) return seen;
    until += seen.unseenMs;
    note({ is: "Delayed", ms: seen.unseenMs });
  }
}

const reasons = {
  RolledBack: "UpdateRolledBack",
  NotReady: "UpdateNotReady",
  NotBooted: "UpdateNotBooted",
  Lost: "UpdateLost",
} as const;

async function fail(
  work: Work,
  { begun, verdict, evidence }: { begun: Begun; verdict: keyof typeof reasons; evidence: string },
): Promise<UpdateOutcome> {
  // A machine that went back to its previous image serves again, so the cause is the image and not the machine.
  const isOwn = verdict !== "RolledBack";
  const failing: Failing = { begun, reason: reasons[verdict], message: evidence, isOwn };
  if (await failOrDoom(work, failing) === "Doomed") return await replaceInstead(work, begun);
  // Unless it went back to its previous image, the machine stays out of service, because it may still boot.
  return isOwn ? { is: "Out" } : await serve(work);
}

/** Evaluates the gates, and lets the machine soak; after the soak it must still run the image and be Ready. */
async function prove(work: Work, begun: Begun): Promise<UpdateOutcome> {
  const { target, task: { subject: machine, templateHash }, note } = work;
  const { image, soakUntil } = begun;
  // The desired image changed: the machine stays in service, and is updated again in its turn.
  if (templateHash !== target.desired?.templateHash) return await serve(work);
  note({ is: "Stepped", step: "Gates" });
  // The node may have had this image before, so the begin of the update distinguishes the evaluations.
  const key = `${templateHash} ${machine} ${begun.since}`;
  const asked = { run: "EachMachine" as const, key, machine, node: machine };
  const failed = (soakUntil === undefined ? await passGates(work, asked) : undefined) ?? await soak(work, begun);
  if (failed !== undefined) {
    await failUpdate(work, { image, reason: "GatesFailed", message: failed });
    return { is: "Out" };
  }
  await serve(work);
  return { is: "Updated" };
}

/** Lets the machine soak. Returns what is wrong at the end; undefined if nothing is wrong or the machine is gone. */
async function soak(
  { settings: { pool }, target, task, note }: Work,
  begun: Begun,
): Promise<string | undefined> {
  const ms = inPlaceOf(target.rules).soak;
  if (ms === 0) return undefined;
  const until = begun.soakUntil ?? Date.now() + ms;
  if (begun.soakUntil === undefined) note({ is: "SoakBegan", until });
  if (until > Date.now()) {
    note({ is: "Stepped", step: "Soaking", until });
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
