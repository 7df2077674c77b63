/** Reads the desired state of a MachineDeployment, and rolls back to its last good template, profile and settings. */
import type { Cluster } from "../../cluster.ts";
import type { Desired, LastGood, PoolEvent, PoolRef, RestoreOrder } from "../../../workflows/contracts/mod.ts";
import { readKeptProfile } from "../../config/kept_profile.ts";
import { readKeptTemplate } from "../../config/kept_template.ts";
import { expired, refused, unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import {
  editObject,
  type MachineDeployment,
  machineDeployments,
  readObject,
  type RolloutObject,
  rollouts,
} from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { emitEvents } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";
import type { ProfilePlace, Wanted, WantedQuestion } from "../contract.ts";
import { actorOf, fieldManager, type WrittenDeployment, writtenDeployments } from "./template.ts";
import { stampOf } from "./holds.ts";
import { setOfTemplate } from "./observe_pool.ts";
import { changeOf, inputsIn, inputsOf, observedOf, specHashOf } from "../../config/observed.ts";
import { pinnedInputs, pinOf, readPin, writePin } from "../../status/pin.ts";
import { lineState, readProfileLine } from "../../config/profile_line.ts";
import { type ConfigSource, profileRef } from "../../config/read_profile.ts";
import { imageOf, kubeletOf, revisionAnnotation, surgeOf, templateHashLabel } from "../../kube/machine_deployment.ts";
import { currentSet, isSameTemplate, unlabelled, withTemplateInUse } from "../../kube/machine_sets.ts";
import { isSurelySafe, isSurelyUnsettled, isSurelyUnused, settledBy, watchedHash } from "./pool_watch.ts";

interface Restorer extends ProfilePlace {
  kube: Cluster;
}

/** Maximum number of attempts after conflicts with other writers; then the activity fails, and Temporal retries it. */
const tries = 5;

/**
 * Makes the last good revision the desired one and emits an Event; returns whether this changed anything. Changes
 * nothing if the order names a bad change and a newer change is desired by now. Throws Refused (LastGoodMissing) if the
 * last good revision, its MachineSet or its profile is missing.
 */
export function restoreLastGood(
  kube: Cluster,
  order: RestoreOrder,
  { profileNamespace }: ProfilePlace,
): Promise<{ changed: boolean }> {
  const { pool } = order;
  const restorer = { kube, profileNamespace };
  return attempting(
    `roll back MachineDeployment "${pool.namespace}/${pool.name}" to the last good revision`,
    async () => {
      for (let nth = 0; nth < tries; nth++) {
        const deployment = await ifFound(readObject(restorer.kube, machineDeployments, pool));
        if (!deployment || deployment.metadata.deletionTimestamp) return { changed: false };
        const changed = await restore(restorer, deployment, order);
        if (changed !== undefined) return { changed };
      }
      throw unavailable(
        `Failed to roll back MachineDeployment "${pool.namespace}/${pool.name}": ${tries} conflicts with other writers`,
      );
    },
  );
}

/** Rolls back; returns whether this changed anything, or undefined if the MachineDeployment was modified meanwhile. */
async function restore(
  restorer: Restorer,
  deployment: MachineDeployment,
  { pool, by, reason, bad }: RestoreOrder,
): Promise<boolean | undefined> {
  const { kube } = restorer;
  const rollout = await ifFound(readObject(kube, rollouts, pool));
  const { lastGood } = memoryOf(rollout);
  if (!lastGood) throw lost(pool, "none of its rollouts has converged yet");
  const template = await goodTemplate(kube, deployment, lastGood);
  if (bad && !isSameTemplate(deployment.spec.template, template)) await refuseIgnored(kube, deployment);
  if (bad && !await isStillBad(restorer, deployment, { bad, lastGood, template })) return false;
  // The profile is pinned before the template changes, so that the good config is published for the new revision.
  const isPinned = await ensurePinned(restorer, { deployment, rollout, lastGood });
  const isTold = isSameTemplate(deployment.spec.template, template);
  if (!isTold && !await replaceTemplate(kube, deployment, template)) return undefined;
  if (isTold && !isPinned) return false;
  const what = [...isTold ? [] : ["template"], ...isPinned ? ["profile"] : []].join(" and ");
  const message = `Rolled back to the ${what} of revision ${lastGood.revision}, by ${by}: ${reason}`;
  await emitEvents(kube, deployment.metadata, [
    { type: "Warning", reason: "LastGoodRestored", message } satisfies PoolEvent,
  ]);
  return true;
}

/**
 * Returns whether the bad change or the last good template is desired. If the rollback changes the template, only
 * templates are compared, because an edit of the profile does not end such a rollback. Templates are equal if either
 * their hashes or their contents are equal, because the hash is unknown until machine-controller has observed the
 * latest edit, even one of the replicas.
 */
async function isStillBad(
  { kube, profileNamespace }: Restorer,
  deployment: MachineDeployment,
  { bad, lastGood, template }: { bad: NonNullable<RestoreOrder["bad"]>; lastGood: LastGood; template: object },
): Promise<boolean> {
  const { metadata: { generation = 0 }, spec, status } = deployment;
  const isNumbered = (status?.observedGeneration ?? 0) >= generation;
  const current = isNumbered ? await currentSet(kube, deployment) : undefined;
  const isDesired = (hash: string, content: object | undefined): boolean =>
    current?.metadata.labels?.[templateHashLabel] === hash || isSameTemplate(spec.template, content);
  const isGood = isDesired(lastGood.templateHash, template);
  if (bad.templateHash !== lastGood.templateHash) {
    if (isGood) return true;
    const set = await setOfTemplate(kube, deployment, bad.templateHash);
    return set !== undefined && isDesired(bad.templateHash, set.spec?.template);
  }
  const ref = profileRef(deployment, profileNamespace);
  return isGood && ref !== undefined &&
    inputsOf(deployment, await readProfileLine(kube, ref)) === inputsIn(bad.specHash);
}

/**
 * Throws Expired (SettleExpired) if machine-controller ignores the template because the MachineDeployment is paused:
 * that template is a newer change, which a rollback of the template in use must not overwrite.
 */
async function refuseIgnored(kube: Kube, deployment: MachineDeployment): Promise<void> {
  const { metadata: { namespace, name }, spec } = deployment;
  const used = await withTemplateInUse(kube, deployment);
  if (isSameTemplate(used.spec.template, spec.template)) return;
  throw expired(
    "SettleExpired",
    `Failed to roll back MachineDeployment "${namespace}/${name}": its template was changed while spec.paused is ` +
      "true; set spec.paused to false, or restore the template",
  );
}

async function goodTemplate(kube: Kube, deployment: MachineDeployment, lastGood: LastGood): Promise<object> {
  const { namespace, name } = deployment.metadata;
  const set = await setOfTemplate(kube, deployment, lastGood.templateHash);
  const template = set?.spec?.template;
  const kept = template
    ? unlabelled(template)
    : await readKeptTemplate(kube, { namespace, name }, lastGood.templateHash);
  if (kept) return kept;
  const state = `the MachineSet of revision ${lastGood.revision} (template ${lastGood.templateHash}) was deleted`;
  throw lost({ namespace, name }, state);
}

/**
 * Records that the pool uses the profile and settings of the last good revision (the pin). Returns true if it wrote the
 * pin, and false if the pool needs no new pin.
 */
async function ensurePinned(
  { kube, profileNamespace }: Restorer,
  { deployment, rollout, lastGood }: {
    deployment: MachineDeployment;
    rollout: RolloutObject | undefined;
    lastGood: LastGood;
  },
): Promise<boolean> {
  const ref = profileRef(deployment, profileNamespace);
  const good = inputsIn(lastGood.specHash);
  if (!ref || good === "") return false;
  const bad = inputsOf(deployment, await readProfileLine(kube, ref));
  const pin = pinOf(rollout);
  if (bad === good || (pin?.bad === bad && pin.good === good)) return false;
  const { namespace, name } = deployment.metadata;
  if (!await readKeptProfile(kube, deployment.metadata, good)) {
    throw lost({ namespace, name }, `the profile and settings of revision ${lastGood.revision} are not recorded`);
  }
  await writePin(kube, { namespace, name }, { bad, good });
  return true;
}

async function replaceTemplate(kube: Kube, { metadata }: MachineDeployment, template: object): Promise<boolean> {
  const { namespace, name, resourceVersion } = metadata;
  // The patch replaces the whole template, because a merge would keep those fields of the bad template that the good
  // one does not have.
  const edits = [
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "replace", path: "/spec/template", value: template },
  ];
  try {
    await editObject(kube, machineDeployments, { namespace, name, edits, fieldManager });
    return true;
  } catch (error) {
    if (statusOf(error) === 409) return false;
    throw error;
  }
}

function lost({ namespace, name }: PoolRef, state: string): Error {
  return refused(
    "LastGoodMissing",
    `Failed to roll back MachineDeployment "${namespace}/${name}": ${state}; apply the good spec by hand`,
  );
}

/** Returns the desired state, or "Deleting" or "Gone". */
export function readWanted(
  kube: Cluster,
  { namespace, name }: PoolRef,
  { profileNamespace, rollout }: WantedQuestion,
): Promise<Wanted> {
  return attempting(`read MachineDeployment "${namespace}/${name}"`, async () => {
    const found = await readNumbered(kube, { namespace, name });
    if (!found) return { state: "Gone" };
    if (found.metadata.deletionTimestamp) return { state: "Deleting" };
    const deployment = await withTemplateInUse(kube, found);
    const profile = profileRef(deployment, profileNamespace) ?? { name: "", namespace: profileNamespace };
    const [templateHash, inputs] = await Promise.all([
      numberedHash(kube, deployment),
      readInputs(kube, { deployment, profile, rollout }),
    ]);
    const good = rollout ? memoryOf(rollout).lastGood?.templateHash : undefined;
    return {
      state: "Present",
      desired: desiredOf(deployment, { templateHash, profile, inputs }),
      labels: deployment.metadata.labels ?? {},
      source: { deployment, line: inputs.line },
      ...(isSurelyUnused(kube, deployment) ? { isUnused: true } : {}),
      ...(templateHash && good && isSurelySafe(kube, deployment, { good, desired: templateHash })
        ? { keepsGood: true }
        : {}),
    };
  });
}

/**
 * Milliseconds in which machine-controller numbers most changes of a template, that is, writes their revision; a read
 * before that would have to be repeated.
 */
const momentMs = 2_000;

/**
 * Waits up to `momentMs` for machine-controller to write the revision of the current template, then returns the
 * MachineDeployment, with or without that revision; undefined if it was deleted.
 */
async function readNumbered(kube: Cluster, pool: PoolRef): Promise<WrittenDeployment | undefined> {
  const read = (): Promise<WrittenDeployment | undefined> => ifFound(readObject(kube, writtenDeployments, pool));
  // Without watches, no event shows that machine-controller has written the revision, so there is no wait.
  if (!kube.watch) return await read();
  const until = Date.now() + momentMs;
  if (isSurelyUnsettled(kube, pool)) await settledBy(kube, pool, { generation: 0, until });
  const deployment = await read();
  const { generation = 0, deletionTimestamp } = deployment?.metadata ?? {};
  const isNumbered = (deployment?.status?.observedGeneration ?? 0) >= generation;
  if (!deployment || deletionTimestamp || isNumbered) return deployment;
  return await settledBy(kube, pool, { generation, until }) ? await read() : deployment;
}

function desiredOf(
  deployment: WrittenDeployment,
  { templateHash, profile, inputs }: {
    templateHash: string | undefined;
    profile: Desired["profile"];
    inputs: ConfigInputs;
  },
): Desired {
  const { metadata, spec, status } = deployment;
  const generation = metadata.generation ?? 0;
  const replicas = spec.replicas ?? 1;
  const stamp = stampOf(deployment);
  const settled = templateHash !== undefined && (status?.observedGeneration ?? 0) >= generation;
  return {
    ...{ generation, settled, templateHash: templateHash ?? "", replicas, profile },
    observed: observedOf(deployment, inputs.state),
    change: changeOf(deployment, inputs.pinned ?? inputs.state),
    specHash: specHashOf(settled && templateHash ? templateHash : spec.template, inputs.pinned ?? inputs.current),
    actor: actorOf(deployment),
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    surge: surgeOf(spec.strategy?.rollingUpdate?.maxSurge, replicas),
    image: imageOf(spec.template?.spec),
    kubelet: kubeletOf(spec.template?.spec),
    ...(stamp === undefined ? {} : { stamp }),
  };
}

/** Returns the hash of the template; undefined until machine-controller has written the template's revision. */
async function numberedHash(kube: Cluster, deployment: MachineDeployment): Promise<string | undefined> {
  const known = watchedHash(kube, deployment.metadata);
  if (known !== "") return known;
  const set = await currentSet(kube, deployment);
  return set && (set.metadata.labels?.[templateHashLabel] ?? "");
}

/**
 * The inputs of a config besides the template: settings, and the profile with the profiles that it extends (`line`).
 */
interface ConfigInputs extends Pick<ConfigSource, "line"> {
  state: number | string | undefined;
  /** The current inputs, as returned by `inputsOf`. */
  current: string;
  /** The inputs that a pinned pool uses instead of `current`; undefined for a pool without a pin. */
  pinned: string | undefined;
}

async function readInputs(
  kube: Cluster,
  { deployment, profile, rollout }: {
    deployment: MachineDeployment;
    profile: Desired["profile"];
    rollout: RolloutObject | null | undefined;
  },
): Promise<ConfigInputs> {
  const [line, pin] = await Promise.all([
    profile.name ? readProfileLine(kube, profile) : [],
    rollout === undefined ? readPin(kube, deployment.metadata) : pinOf(rollout ?? undefined),
  ]);
  const current = inputsOf(deployment, line);
  return { line, state: lineState(line), current, pinned: pinnedInputs(pin, current) };
}
