/**
 * Changes the image of a template without replacing machines, by writing the new template into their MachineSet. The
 * oldest set with the MachineDeployment's template counts as its current one (machine-controller 1.66,
 * `FindNewMachineSet`), so machine-controller rolls nothing, and new machines of that set boot the new image. Before
 * that, machine-controller may have created another set for the new template; the machines of that other set are held
 * and never boot. NodePools bring the existing nodes to the new image; the change is refused if a node is selected by
 * no NodePool or by several.
 */
import type { Keeping, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { imageOf, surgeOf, templateHashLabel } from "../../kube/machine_deployment.ts";
import {
  editObject,
  type Machine,
  type MachineDeployment,
  machineDeployments,
  type MachineSet,
  machineSets,
  readObject,
} from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { emitEvents } from "../../status/events.ts";
import type { FindStray } from "../contract.ts";
import { isCurrent, isPaused, isSameTemplate, unlabelled } from "../../kube/machine_sets.ts";
import { fieldManager, withoutImage } from "./template.ts";
import { holdAnnotation } from "./annotations.ts";
import { hasInstance, ownMachines } from "./observe_pool.ts";

/**
 * Keeps machine-controller from replacing the machines of a pool whose template has a new image. Returns Unneeded if
 * there is nothing to keep, and Pending while machine-controller has to reconcile first. Writes nothing if the change
 * is refused.
 */
export function keepMachines(kube: Kube, pool: PoolRef, findStray: FindStray): Promise<Keeping> {
  return attempting(`keep the machines of MachineDeployment "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment || deployment.metadata.deletionTimestamp) return { outcome: "Unneeded" };
    const { machines, sets } = await ownMachines(kube, deployment);
    const running = machines.filter(isRunning);
    const populated = sets.filter((set) => running.some((machine) => isOf(set, machine)));
    const image = imageIn(deployment.spec.template);
    const isDesired = (set: MachineSet): boolean => isSameTemplate(set.spec?.template, deployment.spec.template);
    // machine-controller ignores a template that was written while the MachineDeployment is paused.
    if (isPaused(deployment) && !sets.some(isDesired)) return { outcome: "Unneeded" };
    // A set has the new template already, but machine-controller has not made that set the current one yet.
    if (populated.some((set) => isDesired(set) && !isCurrent(set, deployment))) return { outcome: "Pending" };
    // If a set has the template already, even without machines, machine-controller can observe it, so there is no need
    // to decide before that.
    const { metadata: { generation = 0 }, status } = deployment;
    if ((status?.observedGeneration ?? 0) < generation && sets.some(isDesired)) return { outcome: "Pending" };
    // The current set can have another template. machine-controller (1.66) cannot observe a template whose name is
    // taken by a set that got another image in place, because that set keeps the name of its first template.
    const others = populated.filter((set) => !isDesired(set));
    if (others.every((set) => imageIn(set.spec?.template) === image)) return { outcome: "Unneeded" };
    const why = refusalOf(deployment, populated) ?? await strayOf(running, findStray);
    if (why !== undefined) return { outcome: "Refused", message: refusal(deployment, why) };
    return await giveTemplate(kube, deployment, others[0] as MachineSet);
  });
}

function refusal({ metadata: { namespace, name }, spec }: MachineDeployment, why: string): string {
  return `Failed to update MachineDeployment "${namespace}/${name}" to image "${
    imageIn(spec.template)
  }" without replacing machines: ${why}`;
}

/** Returns whether a machine runs or can boot: not if it has no instance, and is held or being deleted. */
function isRunning(machine: Machine): boolean {
  const { annotations, deletionTimestamp } = machine.metadata;
  const isPaper = !machine.status?.nodeRef && !hasInstance(machine) && Boolean(annotations?.[holdAnnotation]);
  return !isPaper && !(deletionTimestamp && !hasInstance(machine));
}

function isOf({ metadata: { uid } }: MachineSet, { metadata: { ownerReferences = [] } }: Machine): boolean {
  return ownerReferences.some((owner) => owner.uid === uid);
}

function refusalOf({ spec }: MachineDeployment, populated: readonly MachineSet[]): string | undefined {
  const [set, other] = populated;
  if (!set || other) {
    return `machines of ${populated.length} templates exist, but only machines of one template can be kept`;
  }
  if (surgeOf(spec.strategy?.rollingUpdate?.maxSurge, spec.replicas ?? 1) === 0) {
    return "with maxSurge 0, machine-controller deletes machines by itself; set maxSurge to at least 1";
  }
  const isAlone = isSameTemplate(withoutImage(set.spec?.template), withoutImage(spec.template));
  return isAlone ? undefined : "more than the image changes in the template";
}

async function strayOf(running: readonly Machine[], findStray: FindStray): Promise<string | undefined> {
  const bare = running.find(({ status }) => !status?.nodeRef);
  if (bare) return `machine "${bare.metadata.name}" does not have a node yet`;
  const stray = await findStray(running.flatMap(({ status }) => status?.nodeRef?.name ?? []));
  return stray === undefined ? undefined : `node "${stray}" must be selected by exactly one NodePool`;
}

async function giveTemplate(kube: Kube, deployment: MachineDeployment, set: MachineSet): Promise<Keeping> {
  const { namespace, name, resourceVersion, labels } = set.metadata;
  const hash = { [templateHashLabel]: labels?.[templateHashLabel] ?? "" };
  const edits = [
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "replace", path: "/spec/template", value: labelled(unlabelled(deployment.spec.template ?? {}), hash) },
  ];
  try {
    await editObject(kube, machineSets, { namespace, name, edits, fieldManager });
  } catch (error) {
    if (statusOf(error) === 409) return { outcome: "Pending" }; // the set was modified meanwhile
    throw error;
  }
  const message = `New machines of MachineSet ${name} boot ${
    imageIn(deployment.spec.template)
  }; existing machines are kept`;
  await emitEvents(kube, deployment.metadata, [{ type: "Normal", reason: "MachinesKept", message }]);
  return { outcome: "Kept" };
}

function labelled(template: object, added: Record<string, string>): object {
  const { metadata = {}, ...rest } = template as { metadata?: { labels?: Record<string, string> } };
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...added } } };
}

function imageIn(template: object | undefined): string {
  return imageOf((template as MachineDeployment["spec"]["template"])?.spec);
}
