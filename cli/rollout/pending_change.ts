/** The difference between a pool's template and its last good template. */
import { MachineDeployment, MachineSet, machineSets, type MachineSpec } from "../../activities/kube/resources.ts";
import {
  hasSelector,
  imageOf,
  kubeletOf,
  labelSelectorOf,
  revisionAnnotation,
  templateHashLabel,
} from "../../activities/kube/machine_deployment.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { listAll } from "../connect/cluster.ts";
import { changesPatch, type TemplateChange, templateChanges } from "../view/template_changes.ts";
import type { PoolRow } from "./pool_row.ts";

/** A template with its title. */
interface Side {
  title: string;
  template: unknown;
  configDigest: string;
}

/** Summaries of the last good template and of the new one, and the fields that differ. */
export interface PendingChange {
  /** Missing if no earlier template is known. */
  before?: Summary;
  after: Summary;
  changes: TemplateChange[];
  patch: string;
}

interface Summary {
  title: string;
  image: string;
  kubelet: string;
  /** "" if unknown. */
  configDigest: string;
}

/**
 * Compares the template of the MachineDeployment, or the template in `instead` if given, with the last good template.
 */
export async function pendingChange(
  kube: Kube,
  { row, deployment, instead }: { row: PoolRow; deployment: unknown; instead?: { title: string; template: unknown } },
): Promise<PendingChange> {
  const { status } = row;
  const revision = annotationsOf(deployment)[revisionAnnotation];
  const after: Side = {
    title: instead?.title ?? (revision === undefined ? "now" : `revision ${revision}`),
    template: instead === undefined ? templateOf(deployment) : instead.template,
    configDigest: instead === undefined && status?.revision === revision ? status?.configDigest ?? "" : "",
  };
  const before = await goodSide(kube, row, deployment);
  return changeBetween(before, after);
}

/** Returns the difference between two templates; without `before`, there are no changes. Pure. */
function changeBetween(before: Side | undefined, after: Side): PendingChange {
  const changes = before === undefined ? [] : templateChanges(before.template, after.template);
  return {
    ...(before === undefined ? {} : { before: summaryOf(before) }),
    after: summaryOf(after),
    changes,
    patch: before === undefined ? "" : changesPatch(changes, before.title, after.title),
  };
}

function summaryOf({ title, template, configDigest }: Side): Summary {
  const spec = (template as { spec?: MachineSpec } | undefined)?.spec;
  return { title, image: imageOf(spec), kubelet: kubeletOf(spec), configDigest };
}

// The last good template is in the MachineSet with the template hash that the Rollout recorded; without such a
// MachineSet, the newest earlier revision counts as good.
async function goodSide(kube: Kube, { pool, status }: PoolRow, deployment: unknown): Promise<Side | undefined> {
  const uid = (deployment as { metadata?: { uid?: string } } | undefined)?.metadata?.uid;
  if (uid === undefined) return undefined;
  const sets = (await listAll(kube, machineSets, { namespace: pool.namespace, ...labelsOf(deployment) }))
    .flatMap((one) => MachineSet.safeParse(one).data ?? [])
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  const hash = status?.lastGood?.templateHash;
  const present = Number(annotationsOf(deployment)[revisionAnnotation] ?? Infinity);
  const [previous] = sets.filter((set) => revisionOf(set) < present).sort((a, b) => revisionOf(b) - revisionOf(a));
  const good = sets.find(({ metadata }) => hash !== undefined && metadata.labels?.[templateHashLabel] === hash) ??
    previous;
  if (good === undefined) return undefined;
  const configDigest = status?.lastGood?.configDigest ?? "";
  return { title: `revision ${revisionOf(good)}`, template: good.spec?.template, configDigest };
}

// Without a selector in the object, the MachineSets of all pools in its namespace are listed.
function labelsOf(deployment: unknown): { labelSelector?: string } {
  const { data } = MachineDeployment.safeParse(deployment);
  return data && hasSelector(data) ? { labelSelector: labelSelectorOf(data) } : {};
}

function revisionOf({ metadata }: MachineSet): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0);
}

function annotationsOf(object: unknown): Record<string, string> {
  return (object as { metadata?: { annotations?: Record<string, string> } } | undefined)?.metadata?.annotations ?? {};
}

/** Returns the machine template of a MachineDeployment. */
export function templateOf(deployment: unknown): unknown {
  return (deployment as { spec?: { template?: unknown } } | undefined)?.spec?.template;
}
