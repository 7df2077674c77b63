/** Goes back: the last good template, and the profile and settings that its config was rendered from. */
import type { LastGood, PoolEvent, PoolRef } from "../../../workflows/contracts/mod.ts";
import { readKeptProfile } from "../../config/kept_profile.ts";
import { refused, unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { editObject, machineDeployments, readObject, rollouts } from "../../kube/resources.ts";
import type { MachineDeployment, RolloutObject } from "../../kube/schemas.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { emitEvents } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";
import type { ProfilePlace, RestoreOrder } from "../contract.ts";
import { fieldManager } from "./actor.ts";
import { setOfTemplate } from "./machine_sets.ts";
import { inputsIn, inputsOf } from "../../config/observed.ts";
import { pinOf, writePin } from "../../status/pin.ts";
import { readProfileLine } from "../../config/profile_line.ts";
import { profileRef } from "../../config/profile_ref.ts";
import { isSameTemplate, unlabelled } from "./template.ts";

interface Restorer extends ProfilePlace {
  kube: Kube;
}

/** Writers that may be faster before it is left to the next try of the activity. */
const tries = 5;

/** Makes it what is desired, and says so in an Event; whether there was anything to do. Refused as "LastGoodMissing". */
export function restoreLastGood(
  kube: Kube,
  order: RestoreOrder,
  { profileNamespace }: ProfilePlace,
): Promise<{ changed: boolean }> {
  const { pool } = order;
  const restorer = { kube, profileNamespace };
  return attempting(`go back to what was last good in "${pool.namespace}/${pool.name}"`, async () => {
    for (let nth = 0; nth < tries; nth++) {
      const deployment = await ifFound(readObject(restorer.kube, machineDeployments, pool));
      if (!deployment || deployment.metadata.deletionTimestamp) return { changed: false };
      const changed = await restore(restorer, deployment, order);
      if (changed !== undefined) return { changed };
    }
    throw unavailable(
      `Cannot go back to what was last good in "${pool.name}": it was changed ${tries} times meanwhile`,
    );
  });
}

/** Undefined when somebody else was faster. */
async function restore(
  restorer: Restorer,
  deployment: MachineDeployment,
  { pool, by, reason }: RestoreOrder,
): Promise<boolean | undefined> {
  const { kube } = restorer;
  const rollout = await ifFound(readObject(kube, rollouts, pool));
  const { lastGood } = memoryOf(rollout);
  if (!lastGood) throw lost(pool, "no rollout of it has converged yet");
  const template = await goodTemplate(kube, deployment, lastGood);
  // Before the template: what is published for the new revision is then the good config at once.
  const isPinned = await ensurePinned(restorer, { deployment, rollout, lastGood });
  const isTold = isSameTemplate(deployment.spec.template, template);
  if (!isTold && !await replaceTemplate(kube, deployment, template)) return undefined;
  if (isTold && !isPinned) return false;
  const what = [...isTold ? [] : ["template"], ...isPinned ? ["profile"] : []].join(" and ");
  const message = `Went back to the ${what} of revision ${lastGood.revision}, by ${by}: ${reason}`;
  await emitEvents(kube, deployment.metadata, [
    { type: "Warning", reason: "LastGoodRestored", message } satisfies PoolEvent,
  ]);
  return true;
}

async function goodTemplate(kube: Kube, deployment: MachineDeployment, lastGood: LastGood): Promise<object> {
  const { namespace, name } = deployment.metadata;
  const set = await setOfTemplate(kube, deployment, lastGood.templateHash);
  const template = set?.spec?.template;
  if (template) return unlabelled(template);
  const state = `the MachineSet of revision ${lastGood.revision} (template ${lastGood.templateHash}) is gone`;
  throw lost({ namespace, name }, state);
}

/** Whether a pin had to be written: nothing is pinned while what stands there is what was good. */
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
    throw lost({ namespace, name }, `the profile and settings of revision ${lastGood.revision} were not kept`);
  }
  await writePin(kube, { namespace, name }, { bad, good });
  return true;
}

async function replaceTemplate(kube: Kube, { metadata }: MachineDeployment, template: object): Promise<boolean> {
  const { namespace, name, resourceVersion } = metadata;
  // Not merged: what the bad template added has to go, and nothing of the good one may be lost.
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
    `Cannot go back to what was last good in "${namespace}/${name}": ${state}; apply the good spec by hand`,
  );
}
