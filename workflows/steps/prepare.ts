/** Renders and publishes what a machine of the desired revision boots with. */
import type { Desired, Publication, Published, Rules } from "../contracts/mod.ts";
import { publishBeside, write } from "../proxies.ts";
import type { Part, Seen, Telling } from "../state/rollout.ts";
import type { Target } from "../state/target.ts";
import { tell, warn } from "../state/view.ts";
import { stand } from "../status/report.ts";
import { isQuarantined } from "./quarantine.ts";
import { troubleOf } from "./trouble.ts";

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
  const summary = "Renew the credentials of what stands published";
  try {
    const renewal = await by.ensureCredentialsRenewed.executeWithOptions({ summary }, [{ pool }]);
    if (renewal.news !== "Unpublished") target.credentials = lifeOf(renewal);
    if (renewal.news === "Renewed") {
      tell(view, "CredentialsRenewed", "Renewed the credentials of what stands published");
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
