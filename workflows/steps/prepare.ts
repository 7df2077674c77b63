/** Renders and publishes the config that a machine of the desired revision boots with. */
import type {
  Boot,
  Desired,
  DesiredState,
  Memory,
  Publication,
  Published,
  PublishedPool,
  Rules,
} from "../contracts/mod.ts";
import { awaits, publishBeside, readBeside, write } from "../proxies.ts";
import { beginChange, beginConfig, type Part, type Seen, tell, type Telling, warn } from "../state/rollout.ts";
import { isBadAgain, type Target } from "../state/target.ts";
import { stand } from "../status/report.ts";
import { troubleOf } from "../state/trouble.ts";
import { nextQuestionOf, readRound } from "./see.ts";
import { callOffUpdates, dropBoots, takeBack } from "../state/machines.ts";
import { adoptMemory } from "../state/memory.ts";
import { adoptApproval } from "../state/people.ts";
import { isQuarantined } from "../state/quarantine.ts";
import { callOff } from "../state/tasks.ts";
import { freshWave } from "../state/waves.ts";

/**
 * Ensures that config and secrets of this revision are published. A second call for the same change does nothing, until
 * credentials are due for renewal. `published` is given if `openPool` has just published `desired`.
 */
export async function prepare(
  rollout: Telling & Part<"target">,
  desired: Desired,
  published?: Published | null,
): Promise<void> {
  const { target, tasks } = rollout;
  const isKnown = isPrepared(target, desired);
  target.desired = desired;
  if (isKnown) return;
  // Until the new publication exists, nothing may use the old one in its place.
  target.publication = undefined;
  const by = publishBeside(tasks);
  const { rendering, ...publication } = published ??
    await publishBy(by, rollout, desired).catch(async (error: unknown) => {
      await renewStanding(rollout, error, by);
      throw error;
    });
  Object.assign(target, { rendering, publication, credentials: lifeOf(publication) });
  if (publication.news === "Published") announce(rollout, desired);
}

type By = ReturnType<typeof publishBeside>;

async function publishBy(by: By, { settings: { pool } }: Seen<"settings">, { revision }: Desired): Promise<Published> {
  const summary = `Publish the secrets of revision ${revision}`;
  const { published } = await by.publishDesired.executeWithOptions({ summary }, [{ pool, revision }]);
  if (!published) {
    throw new TypeError(`Failed to publish the secrets of revision ${revision}: the activity returned no publication`);
  }
  return published;
}

/**
 * Renews the credentials of the published config if the desired state cannot be published, for example because of its
 * profile: machines still boot with the published config. The caller reports the error of the publication all the same.
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

/**
 * If the policy requires that machines are replaced for a new config, writes the digest of the config into the template
 * and returns Stamped; otherwise returns Unchanged.
 */
export async function rollProfile(
  { settings: { pool }, target, memory, machines }: Seen<"settings" | "memory" | "machines"> & Part<"target">,
  desired: Desired,
  rules: Rules,
): Promise<"Stamped" | "Unchanged"> {
  const { rendering } = target;
  if (!rendering) return "Unchanged";
  const before = bootedBefore({ memory, target }, desired);
  // Records the first config of the template: if the config changes before all machines have booted with it, the later
  // config must not count as the config of all machines.
  target.begun = before ?? { templateHash: desired.templateHash, configDigest: rendering.configDigest };
  const isRolled = rules.onProfileChange === "Roll" && !memory.rollback && !isQuarantined({ machines, memory, target });
  if (!isRolled || !before || before.configDigest === rendering.configDigest) return "Unchanged";
  const summary = "Write the new config's digest into the template";
  const stamp = await write.ensureTemplateStamped.executeWithOptions({ summary }, [
    { pool, templateHash: desired.templateHash, configDigest: rendering.configDigest },
  ]);
  target.stamped = stamp ?? true;
  return "Stamped";
}

/** Returns the config that machines of the desired template have booted with so far; null if none is known. */
function bootedBefore({ memory, target }: Seen<"memory" | "target">, { templateHash }: Desired): Target["begun"] {
  return [memory.lastGood, target.begun].find((each) => each?.templateHash === templateHash) ?? null;
}

function isPrepared({ publication, desired: before }: Readonly<Target>, desired: Desired): boolean {
  // Both identities are compared, because a return to the last good profile changes `specHash` but not `observed`.
  const isSame = before?.observed === desired.observed && before.specHash === desired.specHash;
  if (!publication || !isSame) return false;
  return !isDue(publication.renewAt);
}

/** Returns whether credentials are due for renewal; an empty time is never due. */
function isDue(renewAt: string): boolean {
  return renewAt !== "" && Date.now() >= Date.parse(renewAt);
}

// Reports the publication only in the web UI and leaves the Rollout to its next update, because machines can already
// boot.
function announce(rollout: Telling, { revision }: Desired): void {
  const message = `Published config and secrets of revision ${revision}`;
  stand(rollout, { phase: "Preparing", reason: "Published", message });
  tell(rollout.view, "ConfigPublished", message);
}

// Reads the desired state.

/**
 * Reads the pool and publishes its config in one activity, in the first reconcile of a run. Returns undefined in later
 * reconciles, if an abort or rollback comes first, or if the activity was refused: the run then reads and publishes
 * separately, which reports the refusal.
 */
export async function openPool(
  rollout: Seen<"settings" | "tasks"> & Part<"target" | "memory" | "people" | "machines" | "waves">,
): Promise<PublishedPool | undefined> {
  const { settings: { pool }, target, people, memory, machines, tasks } = rollout;
  if (target.opened) return undefined;
  target.opened = true;
  if (people.abortAsked || memory.rollback) return undefined;
  const summary = "Read the desired state, and publish its config and secrets";
  try {
    const opened = await publishBeside(tasks).publishDesired.executeWithOptions({ summary }, [{ pool }]);
    recallFrom(rollout, opened.earlier);
    if (opened.pool) machines.glance = { asked: null, pool: opened.pool };
    return opened;
  } catch (error) {
    const { kind } = troubleOf(error);
    if (kind === "rethrow" || kind === "unreachable") throw error;
    return undefined;
  }
}

/**
 * Reads the desired state, unless `opened` has it, and waits until machine-controller has assigned a revision to it.
 */
export async function observe(
  rollout: Telling & Part<"target" | "machines" | "tasks">,
  opened?: Pick<PublishedPool, "seen">,
): Promise<DesiredState> {
  const { settings: { pool, durations }, target } = rollout;
  const seen = opened?.seen ?? await readSeen(rollout);
  if (seen.state !== "Present" || seen.desired.settled) return seen;
  const message = `Waiting for machine-controller to assign a revision to generation ${seen.desired.generation}`;
  const until = Date.now() + durations.settle;
  target.desired ??= seen.desired;
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  return await awaits.awaitDesiredSettled.executeWithOptions({ summary: message }, [{ pool, until }]);
}

async function readSeen(rollout: Telling & Part<"target" | "machines" | "tasks">): Promise<DesiredState> {
  const { settings: { pool }, machines, tasks } = rollout;
  machines.glance = undefined;
  const question = nextQuestionOf(rollout);
  if (question) return await readRound(rollout, question);
  return await readBeside(tasks).readDesired.executeWithOptions({ summary: "Read the desired state" }, [{ pool }]);
}

// Handles a new desired state, for the first time or after a change.

/**
 * Reads once the state that earlier runs stored on the Rollout. It must be read before the first report, because a
 * report writes it back.
 */
export async function recallEarlier(
  rollout: Seen<"tasks"> & Recalling,
): Promise<void> {
  const { settings: { pool }, memory, tasks } = rollout;
  if (memory.recalled) return;
  const by = readBeside(tasks);
  recallFrom(rollout, await by.recall.executeWithOptions({ summary: "Recall earlier rollouts" }, [{ pool }]));
}

type Recalling = Seen<"settings"> & Part<"target" | "memory" | "people" | "waves">;

function recallFrom({ settings, target, memory, people, waves }: Recalling, earlier: Memory): void {
  if (memory.recalled) return;
  target.isEndOwed = earlier.isOpen === true;
  const { paused, templateHash = "", skipped = [], approval = null } = earlier;
  people.paused = paused;
  // The skipped machines and the approval are valid while this template is desired; the read of another template resets
  // them.
  target.template = templateHash;
  people.skipped = skipped;
  if (approval) {
    adoptApproval(people, approval);
    waves.current = { ...freshWave(), index: approval.wave, approved: true };
  }
  // A run that only renews credentials is for the state that was stored last; if the desired state has changed since,
  // the run is a normal rollout.
  target.startedFor ||= earlier.observed ?? "";
  adoptMemory(memory, earlier);
  if (settings.publishOnly) memory.rollback = null; // the rollback was cancelled together with its run
}

/**
 * Records the current rules. If another template is desired, resets the state for it; if only the config differs,
 * resets the part of the state that depends on the config.
 */
export function noteChange(
  rollout:
    & Part<"target" | "people" | "waves" | "machines" | "records" | "tasks" | "loop">
    & Seen<"memory" | "view">,
  { desired, rules }: { desired: Desired; rules: Rules },
): void {
  const { target, people, view } = rollout;
  target.known = true;
  target.rules = rulesNow(target, rules);
  target.startedFor ||= desired.observed;
  if (target.change === desired.specHash) return void (target.template = desired.templateHash);
  // A request for an abort that has been completed does not apply to another spec.
  if (view.standing.phase === "Aborted") people.abortAsked = null;
  if (target.template === desired.templateHash) return changeConfig(rollout, desired);
  if (target.change !== "") supersede(rollout, desired, target.rules);
  beginChange(rollout, desired);
}

// Gates that failed with the previous config are evaluated again; all other tasks continue.
function changeConfig(
  rollout: Part<"target" | "waves" | "machines" | "tasks" | "loop"> & Seen<"memory">,
  desired: Desired,
): void {
  const { waves, machines, tasks } = rollout;
  if (isQuarantined(rollout)) {
    callOff(tasks, ({ kind }) => kind === "gates");
    waves.gates = null;
  }
  machines.glance = undefined;
  beginConfig(rollout, desired);
}

// During a policy conflict the rules are unknown: running steps keep their rules, and no machine counts as unhealthy.
function rulesNow({ rules: before }: Readonly<Target>, rules: Rules): Rules {
  const { conflict, repair } = rules;
  return conflict !== null && before ? { ...before, conflict, repair } : rules;
}

// Cancels the tasks of the earlier change that must not continue. If the policy abandons the booting machines of that
// change, they become old machines that are not Ready, and are the first to be replaced.
function supersede(
  { target, machines, memory, tasks }: Seen<"target" | "memory"> & Part<"machines" | "tasks">,
  desired: Desired,
  { onNewChange }: Rules,
): void {
  const isDropped = ({ templateHash = "" }: Pick<Boot, "templateHash">): boolean =>
    onNewChange === "Supersede" && templateHash !== desired.templateHash;
  callOffUpdates({ machines, tasks }, isDropped);
  callOff(tasks, (task) => task.kind === "gates" || task.kind === "stage" || (task.kind === "join" && isDropped(task)));
  // A snapshot that was read before does not show what the cancelled tasks have done to their machines.
  machines.glance = undefined;
  // The records of booting machines decide which machines to drop. The running tasks cannot, because a run that has
  // just begun, or recovers from an outage, has no tasks yet.
  dropBoots(machines, isDropped, target.desired?.templateHash ?? "");
  // A change that is applied again during its rollback is abandoned again.
  if (!isBadAgain(desired, memory)) takeBack(machines, desired.templateHash);
}
