/** The MachineSets of a MachineDeployment, one for each template in machine-controller's history. */
import { canonicalJson } from "../../profiles/canonical_json.ts";
import type { Kube } from "./client.ts";
import { hasSelector, labelSelectorOf, revisionAnnotation, templateHashLabel } from "./machine_deployment.ts";
import { listObjects, MachineDeployment, type MachineSet, machineSets, type Metadata } from "./resources.ts";

/**
 * Returns the MachineSet with the revision, and so with the template that machine-controller uses; undefined until it
 * exists.
 */
export async function currentSet(kube: Kube, deployment: MachineDeployment): Promise<MachineSet | undefined> {
  if (!deployment.metadata.annotations?.[revisionAnnotation]) return undefined;
  const sets = await ownSets(kube, deployment);
  return sets.find((set) => isCurrent(set, deployment));
}

/** Returns whether a set has the MachineDeployment's own revision. */
export function isCurrent(set: MachineSet, deployment: MachineDeployment): boolean {
  const revision = deployment.metadata.annotations?.[revisionAnnotation];
  return Boolean(revision) && set.metadata.annotations?.[revisionAnnotation] === revision;
}

/** Reads the MachineSets of a MachineDeployment, by the UIDs in their owner references. */
export async function ownSets(kube: Kube, deployment: MachineDeployment): Promise<MachineSet[]> {
  const { namespace, uid } = deployment.metadata;
  const found = await listObjects(kube, machineSets, { namespace, labelSelector: labelSelectorOf(deployment) });
  return found.filter(({ metadata }) => isOwned(metadata, new Set([uid])));
}

/** Returns whether an object has an owner with one of these UIDs. */
export function isOwned({ ownerReferences = [] }: Metadata, uids: Set<string>): boolean {
  return ownerReferences.some(({ uid }) => uids.has(uid));
}

/**
 * Returns how many machines of a set machine-controller counts for a rollout: those whose node is Ready, for at least
 * `minReadySeconds`.
 */
export function countedIn({ spec, status }: MachineSet): number {
  // Without minReadySeconds both counts are equal.
  return (spec?.minReadySeconds ? status?.availableReplicas : status?.readyReplicas) ?? 0;
}

// Which MachineSets machine-controller (1.66) deletes after a rollout.

/** Facts of a MachineSet that decide about its deletion. */
export interface SetFacts {
  templateHash: string;
  /** Creation time (RFC 3339). */
  since: string;
}

/** Returns the facts that decide about the deletion of a MachineSet. */
export function factsOf({ metadata: { labels, creationTimestamp: since } }: MachineSet): SetFacts {
  return { templateHash: labels?.[templateHashLabel] ?? "", since };
}

/** The last good and the desired template, each by its `machine-template-hash`. */
export interface Templates {
  good: string;
  desired: string;
}

/**
 * Returns whether machine-controller may delete the last good MachineSet: besides the desired one, it keeps only the
 * newest `revisionHistoryLimit` MachineSets, by default one.
 */
export function isAtRisk(
  { spec }: MachineDeployment,
  sets: readonly SetFacts[],
  { good, desired }: Templates,
): boolean {
  const own = sets.find(({ templateHash }) => templateHash === good);
  if (!own) return false;
  const newer = sets.filter(({ templateHash, since }) => ![good, desired].includes(templateHash) && since >= own.since);
  const limit = spec["revisionHistoryLimit"];
  return newer.length >= (typeof limit === "number" ? limit : 1);
}

// Comparison of templates.

/** Returns the template without the label by which a MachineSet selects its machines. */
export function unlabelled(template: object): object {
  const { metadata = {}, ...rest } = template as { metadata?: { labels?: Record<string, string> } };
  const { [templateHashLabel]: _, ...labels } = metadata.labels ?? {};
  return { ...rest, metadata: { ...metadata, labels } };
}

/** Returns whether both templates are equal, apart from empty fields and what machine-controller adds. */
export function isSameTemplate(one: object | undefined, other: object | undefined): boolean {
  return canonicalJson(plain(one)) === canonicalJson(plain(other));
}

function plain(template: object | undefined): object {
  const { metadata = {}, ...rest } = unlabelled(template ?? {}) as { metadata?: Record<string, unknown> };
  const said = Object.entries(metadata).filter(([key, value]) => key !== "creationTimestamp" && !isEmpty(value));
  return { ...rest, metadata: Object.fromEntries(said) };
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

// A paused MachineDeployment.

/** Returns whether machine-controller leaves changes of the template alone (`spec.paused`). */
export function isPaused({ spec }: MachineDeployment): boolean {
  return spec["paused"] === true;
}

/**
 * Returns the MachineDeployment with the template that machine-controller (1.66) uses. While a MachineDeployment is
 * paused, machine-controller observes each generation, but gives a changed template neither a MachineSet nor a
 * revision, and still creates machines of the current MachineSet.
 */
export async function withTemplateInUse<T extends MachineDeployment>(kube: Kube, deployment: T): Promise<T> {
  if (!isPaused(deployment) || !hasSelector(deployment)) return deployment;
  const used = (await currentSet(kube, deployment))?.spec?.template;
  if (isSameTemplate(used, deployment.spec.template)) return deployment;
  const template = used && MachineDeployment.shape.spec.shape.template.safeParse(unlabelled(used)).data;
  return template ? { ...deployment, spec: { ...deployment.spec, template } } : deployment;
}
