/** Renders and publishes what a machine of the desired revision boots with. */
import type { Boot, Desired, DesiredState, Publication, Published, Rules } from "../contracts/mod.ts";
import { awaits, publishBeside, readBeside, write } from "../proxies.ts";
import { beginChange, type Part, type Seen, tell, type Telling, warn } from "../state/rollout.ts";
import type { Target } from "../state/target.ts";
import { stand } from "../status/report.ts";
import { isQuarantined } from "../machine/quarantine.ts";
import { troubleOf } from "../state/trouble.ts";
import { nextQuestionOf, readRound } from "./plan.ts";
import { callOff, callOffUpdates } from "../machine/tasks.ts";
import { dropBoots, takeBack } from "../state/machines.ts";
import { adoptMemory } from "../state/memory.ts";

/** Makes sure that the secrets of this revision are published; a second call for the same change does nothing. */
export async function prepare(rollout: Telling & Part<"target">, desired: Desired): Promise<void> {
  const { target, tasks } = rollout;
  const isKnown = isPrepared(target, desired);
  target.desired = desired;
  if (isKnown) return;
  // Until the new one stands, nothing may take the old publication for it.
  target.publication = undefined;
  const by = publishBeside(tasks);
  const { rendering, ...publication } = await publishBy(by, rollout, desired).catch(async (error: unknown) => {
    await renewStanding(rollout, error, by);
    throw error;
  });
  Object.assign(target, { rendering, publication, credentials: lifeOf(publication) });
  if (publication.news === "Published") announce(rollout, desired);
}

type By = ReturnType<typeof publishBeside>;

async function publishBy(
  by: By,
  { settings: { pool }, memory: { lastGood } }: Seen<"settings" | "memory">,
  { revision, specHash }: Desired,
): Promise<Published> {
  const summary = `Publish the secrets of revision ${revision}`;
  const seen = { specHash, goodSpecHash: lastGood?.specHash ?? "" };
  return await by.publishConfig.executeWithOptions({ summary }, [{ pool, revision, seen }]);
}

/**
 * What cannot be published, say for its profile, leaves what stands: machines go on booting from that, with credentials
 * that are renewed in time. What went wrong is told as ever.
 */
async function renewStanding(
  { settings: { pool }, target, view }: Telling & Part<"target">,
  error: unknown,
  by: By,
): Promise<void> {
  const { kind } = troubleOf(error);
  if (kind === "rethrow" || kind === "replan" || !areDue(target)) return;
  const summary = "Renew the credentials of the published config";
  try {
    const renewal = await by.ensureCredentialsRenewed.executeWithOptions({ summary }, [{ pool }]);
    if (renewal.news !== "Unpublished") target.credentials = lifeOf(renewal);
    if (renewal.news === "Renewed") {
      tell(view, "CredentialsRenewed", "Renewed the credentials of the published config");
    }
  } catch (failure) {
    const trouble = troubleOf(failure);
    if (trouble.kind === "rethrow") throw failure;
    if (trouble.kind === "halt") warn(view, trouble.reason, trouble.message);
  }
}

function areDue({ credentials }: Readonly<Target>): boolean {
  return !credentials || isDue(credentials.renewAt);
}

function lifeOf({ expiresAt, renewAt }: Pick<Publication, "expiresAt" | "renewAt">): Target["credentials"] {
  return { expiresAt, renewAt };
}

/** Where the policy wants machines replaced for a new config, makes that a change of the template. */
export async function rollProfile(
  { settings: { pool }, target, memory, machines }: Seen<"settings" | "memory" | "machines"> & Part<"target">,
  desired: Desired,
  rules: Rules,
): Promise<"Stamped" | "Unchanged"> {
  const { rendering } = target;
  if (!rendering) return "Unchanged";
  const before = bootedBefore({ memory, target }, desired);
  // One that changes before all machines have it would else be told as what they all have.
  target.begun = before ?? { templateHash: desired.templateHash, configDigest: rendering.configDigest };
  const isRolled = rules.onProfileChange === "Roll" && !memory.rollback && !isQuarantined({ machines, memory, target });
  if (!isRolled || !before || before.configDigest === rendering.configDigest) return "Unchanged";
  await write.ensureTemplateStamped.executeWithOptions({ summary: "Write the new config's digest into the template" }, [
    { pool, templateHash: desired.templateHash, configDigest: rendering.configDigest },
  ]);
  return "Stamped";
}

/** What machines of the desired template have booted with until now. */
function bootedBefore({ memory, target }: Seen<"memory" | "target">, { templateHash }: Desired): Target["begun"] {
  return [memory.lastGood, target.begun].find((each) => each?.templateHash === templateHash) ?? null;
}

function isPrepared({ publication, desired: before }: Readonly<Target>, desired: Desired): boolean {
  // A profile that is left for the last good one changes nothing that can be observed, but what is rendered.
  const isSame = before?.observed === desired.observed && before.specHash === desired.specHash;
  if (!publication || !isSame) return false;
  return !isDue(publication.renewAt);
}

/** What has no end is never due. */
function isDue(renewAt: string): boolean {
  return renewAt !== "" && Date.now() >= Date.parse(renewAt);
}

// In one with what is told next: a machine can boot by now, whoever reads of it.
function announce(rollout: Telling, { revision }: Desired): void {
  const message = `Published config and secrets of revision ${revision}`;
  stand(rollout, { phase: "Preparing", reason: "Published", message });
  tell(rollout.view, "ConfigPublished", message);
}

// Reads what is desired.

/** Reads it, and waits until machine-controller has numbered it. */
export async function observe(rollout: Telling & Part<"target" | "machines" | "tasks">): Promise<DesiredState> {
  const { settings: { pool, durations }, target, tasks } = rollout;
  rollout.machines.glance = undefined;
  const question = nextQuestionOf(rollout);
  // Two awaits, as a function around both would take a turn of its own in histories of before.
  const seen = question
    ? await readRound(rollout, question)
    : await readBeside(tasks).readDesired.executeWithOptions({ summary: "Read the desired state" }, [{ pool }]);
  if (seen.state !== "Present" || seen.desired.settled) return seen;
  const message = `Waiting for machine-controller to assign a revision to generation ${seen.desired.generation}`;
  const until = Date.now() + durations.settle;
  target.desired ??= seen.desired;
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  return await awaits.awaitDesiredSettled.executeWithOptions({ summary: message }, [{ pool, until }]);
}

// What a run does when it learns what is desired, for the first time or anew.

/** Recalls what earlier runs left, once; before anything is reported, as a report writes it back. */
export async function recallEarlier(
  { settings: { pool }, target, memory, people, tasks }:
    & Seen<"settings" | "tasks">
    & Part<"target" | "memory" | "people">,
): Promise<void> {
  if (memory.recalled) return;
  const by = readBeside(tasks);
  const earlier = await by.recall.executeWithOptions({ summary: "Recall earlier rollouts" }, [{ pool }]);
  people.paused = earlier.paused;
  // Whoever wants no more than credentials means what stands; what changed since is more.
  target.startedFor ||= earlier.observed ?? "";
  adoptMemory(memory, earlier);
}

/** Takes over the rules as they are now, and begins afresh for another spec. */
export function noteChange(
  rollout: Part<"target" | "people" | "waves" | "machines" | "tasks" | "loop"> & Seen<"memory" | "view">,
  { desired, rules }: { desired: Desired; rules: Rules },
): void {
  const { target, people, view } = rollout;
  target.known = true;
  target.rules = rulesNow(target, rules);
  target.startedFor ||= desired.observed;
  if (target.change === desired.specHash) return;
  if (target.change !== "") supersede(rollout, desired, target.rules);
  // An abort that was done is over when something else is desired.
  if (view.standing.phase === "Aborted") people.abortAsked = null;
  beginChange(rollout, desired.specHash);
}

// Nobody can say which rules hold: what is under way goes on by those it began with, and nobody is called unhealthy.
function rulesNow({ rules: before }: Readonly<Target>, rules: Rules): Rules {
  const { conflict, repair } = rules;
  return conflict !== null && before ? { ...before, conflict, repair } : rules;
}

// Machines of the earlier change that are dropped become old ones that are not Ready, and so the first victims.
function supersede(
  { target, machines, memory, tasks }: Seen<"target" | "memory"> & Part<"machines" | "tasks">,
  desired: Desired,
  { onNewChange }: Rules,
): void {
  const isDropped = ({ templateHash = "" }: Pick<Boot, "templateHash">): boolean =>
    onNewChange === "Supersede" && templateHash !== desired.templateHash;
  callOffUpdates({ machines, tasks }, isDropped);
  callOff(tasks, (task) => task.kind === "gates" || task.kind === "stage" || (task.kind === "join" && isDropped(task)));
  // What has been called off may have ended by the next look, which has to be a new one to know of that.
  machines.glance = undefined;
  // Not by what is under way: a run that has just begun, or comes out of an outage, watches nothing yet.
  dropBoots(machines, isDropped, target.desired?.templateHash ?? "");
  // Applied again on the way back, it is left again.
  if (memory.rollback?.bad.specHash !== desired.specHash) takeBack(machines, desired.templateHash);
}
