/** Holds and releases machines by annotations only; pacing never edits a spec. */
import type { AdmissionOutcome, PoolRef, TemplateStamp } from "../../../workflows/contracts/mod.ts";
import type { Cluster } from "../../cluster.ts";
import { expired, moot, refused } from "../../failures.ts";
import { abreast, attempting, ifFound, ifRoom } from "../../kube/status.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import {
  deleteObject,
  listObjects,
  type Machine,
  type MachineDeployment,
  machineDeployments,
  machines,
  patchObject,
  readObject,
} from "../../kube/resources.ts";
import { holderOf, isOwnHold } from "../../node/holder.ts";
import type { AdmitOrder, MemberRef } from "../contract.ts";
import { hasSelector, labelSelectorOf } from "../../kube/machine_deployment.ts";
import { isPaused } from "../../kube/machine_sets.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import type { NodeStanding } from "../../node/node_claim.ts";
import { sha256 } from "../../config/artefacts.ts";
import { holdAnnotation, ownerLabel, skipEvictionAnnotation, victimAnnotation } from "./annotations.ts";
import { readStanding } from "./node_claims.ts";
import { fieldManager } from "./template.ts";

/** Maximum number of machines that are released concurrently. */
const width = 20;

/** Marks and holds the next machine to delete, so that machine-controller selects it and then waits. */
export function chooseMachine(kube: Kube, target: MemberRef): Promise<void> {
  return attempting(`mark machine "${target.machine}" for replacement`, async () => {
    const machine = await find(kube, target);
    if (!machine) {
      throw moot("MachineGone", `Failed to mark machine "${target.machine}" for replacement: the Machine was deleted`);
    }
    const holder = holderOf(target.pool);
    // A mark or hold of another controller is not overwritten.
    const free = [victimAnnotation, holdAnnotation].filter((key) => !machine.metadata.annotations?.[key]);
    await annotate(kube, target, Object.fromEntries(free.map((key) => [key, holder])));
  });
}

/**
 * Removes mark and hold of a machine and the cordon of its node. A machine that is being deleted stays unchanged, so
 * that its hold still delays the deletion. With `release`, such a machine loses its hold, and machine-controller then
 * drains and deletes it by its own rules.
 */
export function spareMachine(kube: Cluster, target: MemberRef & { release?: boolean }): Promise<void> {
  return attempting(`uncordon and unmark machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    const isLeaving = machine?.metadata.deletionTimestamp !== undefined;
    if (!machine || (isLeaving && !target.release)) return;
    const standing = await readStanding(kube, machine);
    const node = machine.status?.nodeRef?.name;
    // The node and its cordon may belong to another machine. While this is unclear, the node is uncordoned only if the
    // machine is not being deleted.
    const isOwn = standing.state === "Own" || (standing.state === "Unclear" && !isLeaving);
    if (node && isOwn) await ensureNodeUncordoned(kube, { pool: target.pool, node });
    if (isLeaving && standing.state !== "Own") await dropNode(kube, machine, standing);
    await annotate(kube, target, ours(machine, target.pool, [victimAnnotation, holdAnnotation]));
  });
}

/**
 * Lets a held new machine boot. With a `-join-cluster-timeout`, machine-controller (1.66) deletes each machine without
 * a Node that was created longer ago than this timeout, also a machine that began to boot only now. A machine that was
 * held for half of the timeout is therefore deleted before it has an instance, and machine-controller creates another.
 * Throws Moot for a deleted machine.
 */
export function admitMachine(kube: Cluster, target: AdmitOrder): Promise<AdmissionOutcome> {
  return attempting(`admit machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (!machine) throw moot("MachineGone", `Failed to admit machine "${target.machine}": the Machine was deleted`);
    const release = ours(machine, target.pool, [holdAnnotation]);
    const isRecreated = !target.anyAge && holdAnnotation in release && isHeldTooLong(machine, kube.joinTimeoutMs);
    if (!isRecreated) return void await annotate(kube, target, release);
    await replaceMachine(kube, target);
    return "Recreated";
  });
}

function isHeldTooLong({ metadata, status }: Machine, joinTimeoutMs: number | undefined): boolean {
  const hasInstance = status?.nodeRef !== undefined || (status?.addresses?.length ?? 0) > 0;
  if (joinTimeoutMs === undefined || metadata.deletionTimestamp || hasInstance) return false;
  return Date.now() - Date.parse(metadata.creationTimestamp) > joinTimeoutMs / 2;
}

/**
 * Releases a drained machine that is being deleted: annotates its node, so that machine-controller does not drain the
 * node again, and ends the hold. If the machine is not being deleted, the node gets no annotation, because its pods
 * would not be evicted when the machine is deleted later. Does nothing for a deleted machine.
 */
export function releaseMachine(kube: Cluster, target: MemberRef & { node?: string }): Promise<void> {
  return attempting(`release machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (machine) await endHold(kube, target, machine);
  });
}

/**
 * Deletes a machine, held or not, so that machine-controller creates another. Without `drain` machine-controller does
 * not evict the pods first: a dead node confirms no eviction, and a drained node has no pods left.
 */
export function replaceMachine(kube: Cluster, target: MemberRef & { node?: string; drain?: boolean }): Promise<void> {
  return attempting(`delete machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (!machine) return;
    const { state } = await readStanding(kube, machine);
    const node = target.drain || state !== "Own" ? undefined : target.node ?? machine.status?.nodeRef?.name;
    // The hold makes machine-controller wait until the node has the annotation that prevents a second drain. The node
    // gets the annotation only after the deletion, because the deletion may fail. The hold also keeps a node that is
    // not the machine's own from being drained and deleted.
    // The hold ends only after the deletion, because a held new machine would otherwise begin to boot.
    if (node || state !== "Own") await deleteHeld(kube, target, machine);
    else await ifFound(deleteObject(kube, machines, nameOf(target)));
    const leaving = await find(kube, target);
    const { pool, machine: name } = target;
    if (leaving) await endHold(kube, { pool, machine: name, ...(node ? { node } : {}) }, leaving);
  });
}

/**
 * Uncordons, unmarks and releases all machines that the pool's selector matches, because a deletion with the orphan
 * policy removes the owner references by which machines are otherwise found. Marks of other pools stay. Without a
 * selector the machines cannot be found; the deletion continues without their release.
 */
export function releaseAll(kube: Cluster, pool: PoolRef): Promise<void> {
  const { namespace, name } = pool;
  return attempting(`release the machines of pool "${namespace}/${name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
    if (!deployment || !hasSelector(deployment)) return;
    const found = await listObjects(kube, machines, { namespace, labelSelector: labelSelectorOf(deployment) });
    await abreast(width, found, ({ metadata }) => spareMachine(kube, { pool, machine: metadata.name, release: true }));
  });
}

/**
 * Ends a hold. If the machine is being deleted, prepares its node first, because machine-controller continues the
 * deletion as soon as the hold ends.
 */
async function endHold(kube: Cluster, target: MemberRef & { node?: string }, machine: Machine): Promise<void> {
  if (machine.metadata.deletionTimestamp) {
    const standing = await readStanding(kube, machine);
    if (standing.state !== "Own") await dropNode(kube, machine, standing);
    // If the order names the node of another machine, that node gets no annotation: machine-controller would never
    // drain it.
    else if (target.node && target.node === machine.status?.nodeRef?.name) await skipEviction(kube, target.node);
  }
  await annotate(kube, target, ours(machine, target.pool, [holdAnnotation]));
}

/**
 * Removes the Node reference from a held Machine, and the Machine's UID from the owner label of that Node, so that
 * machine-controller neither drains nor deletes a Node that may belong to another Machine. If the owner of the Node is
 * known, the label then has the owner's UID. The reference is removed last, because the next attempt finds the Node by
 * it. Throws Refused if the Machine still has the reference afterwards.
 */
async function dropNode(
  kube: Kube,
  { metadata: { namespace, name, uid }, status }: Machine,
  standing: Exclude<NodeStanding, { state: "Own" }>,
): Promise<void> {
  const node = status?.nodeRef?.name ?? "";
  const { metadata } = await ifFound(kube.core.readNode({ name: node })) ?? {};
  if (metadata?.labels?.[ownerLabel] === uid) {
    const labels = { [ownerLabel]: standing.owner?.uid ?? null };
    await ifFound(kube.core.patchNode({ name: node, body: { metadata: { labels } } }, asMergePatch));
  }
  await ifFound(patchObject(kube, machines, { namespace, name, body: { status: { nodeRef: null } } }));
  const after = await ifFound(readObject(kube, machines, { namespace, name }));
  if (after?.status?.nodeRef) {
    throw refused(
      "ObjectInvalid",
      `Failed to delete machine "${name}": ${standing.says}, and the API server kept the machine's status.nodeRef`,
    );
  }
}

/**
 * Holds a machine and deletes it. If this fails, removes a hold that this call placed, which would otherwise stay if
 * the next attempt fails too.
 */
async function deleteHeld(kube: Kube, target: MemberRef, { metadata: { annotations } }: Machine): Promise<void> {
  const name = nameOf(target);
  if (annotations?.[holdAnnotation]) return void await ifFound(deleteObject(kube, machines, name));
  try {
    await annotate(kube, target, { [holdAnnotation]: holderOf(target.pool) });
    const { resourceVersion } = (await find(kube, target))?.metadata ?? {};
    // The API server may carry out a request after its client got an error. The resource version makes it refuse a
    // deletion that comes after the end of the hold.
    const only = resourceVersion ? { body: { preconditions: { resourceVersion } } } : {};
    await ifFound(deleteObject(kube, machines, { ...name, ...only }));
  } catch (error) {
    await endUnusedHold(kube, target).catch(() => undefined); // not thrown: the first error shows the cause
    throw error;
  }
}

/**
 * Removes the hold of a machine that is not being deleted. The resource version makes the API server refuse this if the
 * deletion begins meanwhile, because only the hold then protects the node.
 */
async function endUnusedHold(kube: Kube, target: MemberRef): Promise<void> {
  const machine = await find(kube, target);
  if (!machine || machine.metadata.deletionTimestamp) return;
  const { metadata: { resourceVersion } } = machine;
  const annotations = ours(machine, target.pool, [holdAnnotation]);
  if (Object.keys(annotations).length === 0) return;
  const body = { metadata: { resourceVersion, annotations } };
  await ifFound(patchObject(kube, machines, { ...nameOf(target), body }));
}

// Only annotations with the value of this pool are removed; null removes in a merge patch.
function ours(machine: Machine, pool: PoolRef, keys: string[]): Record<string, null> {
  const mine = keys.filter((key) => isOwnHold(pool, machine.metadata.annotations?.[key]));
  return Object.fromEntries(mine.map((key) => [key, null]));
}

async function annotate(kube: Kube, target: MemberRef, annotations: Record<string, string | null>): Promise<void> {
  if (Object.keys(annotations).length === 0) return;
  await ifFound(patchObject(kube, machines, { ...nameOf(target), body: { metadata: { annotations } } }));
}

// If the node has no room for the annotation, machine-controller drains the node again, which has no pods left.
async function skipEviction(kube: Kube, name: string): Promise<void> {
  const body = { metadata: { annotations: { [skipEvictionAnnotation]: "true" } } };
  await ifRoom(ifFound(kube.core.patchNode({ name, body }, asMergePatch)));
}

function find(kube: Kube, target: MemberRef): Promise<Machine | undefined> {
  return ifFound(readObject(kube, machines, nameOf(target)));
}

function nameOf({ pool, machine }: MemberRef): { namespace: string; name: string } {
  return { namespace: pool.namespace, name: machine };
}

/**
 * Annotation of a template: a digest of template and config (the stamp), so that machines with another config are
 * replaced.
 */
const configAnnotation = "ostler.dev/config";

/** Length of the digest in the annotation. */
const stampLength = 16;

/**
 * Writes a digest of template and config (the stamp) into the template's annotations, so that a change of the config
 * changes the template. No config is rendered from this annotation, so the annotation does not change the config's
 * digest. Returns the stamp; undefined for a deleted pool. Throws Expired (SettleExpired) for a paused pool, because
 * the caller would otherwise write stamps without a pause and without an effect.
 */
export function stampTemplate(
  kube: Kube,
  { pool, templateHash, configDigest }: TemplateStamp,
): Promise<string | undefined> {
  return attempting(`annotate the template of MachineDeployment "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    const stamp = sha256(`${templateHash} ${configDigest}`).slice(0, stampLength);
    if (!deployment || deployment.metadata.deletionTimestamp) return undefined;
    if (isPaused(deployment)) throw pausedAt(pool);
    if (stampOf(deployment) === stamp) return stamp;
    const body = { spec: { template: { metadata: { annotations: { [configAnnotation]: stamp } } } } };
    await ifFound(patchObject(kube, machineDeployments, { ...pool, body, fieldManager }));
    return stamp;
  });
}

function pausedAt({ namespace, name }: PoolRef): Error {
  return expired(
    "SettleExpired",
    `Failed to replace the machines of MachineDeployment "${namespace}/${name}" for a changed config: spec.paused is ` +
      "true; set it to false",
  );
}

/**
 * Returns the stamp of the template; undefined if the annotation is missing or not a stamp, because users can write any
 * text.
 */
export function stampOf({ spec }: MachineDeployment): string | undefined {
  const { metadata } = (spec.template ?? {}) as { metadata?: { annotations?: Record<string, unknown> } };
  const stamp = metadata?.annotations?.[configAnnotation];
  return typeof stamp === "string" && /^[0-9a-f]{16}$/.test(stamp) ? stamp : undefined;
}
