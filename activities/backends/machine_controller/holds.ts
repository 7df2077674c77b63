/** Holding machines and letting them go, by annotations only: nothing in a spec is edited for pacing. */
import type { PoolRef, TemplateStamp } from "../../../workflows/contracts/mod.ts";
import { moot } from "../../failures.ts";
import { abreast, attempting, ifFound } from "../../kube/status.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import {
  deleteObject,
  listObjects,
  type Machine,
  machineDeployments,
  machines,
  patchObject,
  readObject,
} from "../../kube/resources.ts";
import { holderOf, isOwnHold } from "../../node/holder.ts";
import type { MemberRef } from "../contract.ts";
import { hasSelector, labelSelectorOf } from "../../kube/machine_deployment.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import { sha256 } from "../../config/artefacts.ts";
import { fieldManager } from "./template.ts";

/** Machines that are let go at a time. */
const width = 20;

/** Marks and holds the machine that has to go next, so that machine-controller picks it and then waits. */
export function chooseMachine(kube: Kube, target: MemberRef): Promise<void> {
  return attempting(`mark machine "${target.machine}" for replacement`, async () => {
    const machine = await find(kube, target);
    if (!machine) {
      throw moot("MachineGone", `Failed to mark machine "${target.machine}" for replacement: the Machine was deleted`);
    }
    const holder = holderOf(target.pool);
    // What somebody else wrote there stays theirs.
    const free = [victimAnnotation, holdAnnotation].filter((key) => !machine.metadata.annotations?.[key]);
    await annotate(kube, target, Object.fromEntries(free.map((key) => [key, holder])));
  });
}

/**
 * Takes back mark and hold, and the cordon of its node. A machine that is already leaving cannot be kept for ever, but as long as it is held it
 * runs: it stays held unless `release` hands it to machine-controller, which drains it by its own rules.
 */
export function spareMachine(kube: Kube, target: MemberRef & { release?: boolean }): Promise<void> {
  return attempting(`uncordon and unmark machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (!machine || (machine.metadata.deletionTimestamp && !target.release)) return;
    const node = machine.status?.nodeRef?.name;
    if (node) await ensureNodeUncordoned(kube, { pool: target.pool, node });
    await annotate(kube, target, ours(machine, target.pool, [victimAnnotation, holdAnnotation]));
  });
}

/** Lets a held new machine boot. */
export function admitMachine(kube: Kube, target: MemberRef): Promise<void> {
  return attempting(`admit machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (!machine) throw moot("MachineGone", `Failed to admit machine "${target.machine}": the Machine was deleted`);
    await annotate(kube, target, ours(machine, target.pool, [holdAnnotation]));
  });
}

/**
 * Releases a drained machine at once: its node needs no second drain, and the hold ends. A node whose machine is gone, or
 * stays, is left alone: another machine may take its name, and its pods would be moved by nobody.
 */
export function releaseMachine(kube: Kube, target: MemberRef & { node?: string }): Promise<void> {
  return attempting(`release machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (machine) await endHold(kube, target, machine);
  });
}

/**
 * Deletes a machine, hold and all, so that machine-controller makes another. Only with `drain` does it evict the pods
 * first: a dead node confirms no eviction.
 */
export function replaceMachine(kube: Kube, target: MemberRef & { node?: string; drain?: boolean }): Promise<void> {
  return attempting(`delete machine "${target.machine}"`, async () => {
    const machine = await find(kube, target);
    if (!machine) return;
    const node = target.drain ? undefined : target.node ?? machine.status?.nodeRef?.name;
    // Held, machine-controller waits until its node is told; told before, the node would keep it if the deletion fails.
    const undo = node ? await ensureHeld(kube, target, machine) : undefined;
    // In this order, as a newcomer without its hold would begin to boot.
    await ifFound(deleteObject(kube, machines, nameOf(target))).catch(async (error: unknown) => {
      await undo?.().catch(() => undefined); // the next try begins with it, and so does whoever spares the machine
      throw error;
    });
    const leaving = await find(kube, target);
    const { pool, machine: name } = target;
    if (leaving) await endHold(kube, { pool, machine: name, ...(node ? { node } : {}) }, leaving);
  });
}

/**
 * Spares and releases all machines that fit the selector. By labels, not by owner: who deletes a MachineDeployment may have
 * orphaned its sets; and of any other pool nothing is taken back. Without a selector nobody can tell its machines, and its
 * deletion must not hang on that.
 */
export function releaseAll(kube: Kube, pool: PoolRef): Promise<void> {
  const { namespace, name } = pool;
  return attempting(`release the machines of pool "${namespace}/${name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
    if (!deployment || !hasSelector(deployment)) return;
    const found = await listObjects(kube, machines, { namespace, labelSelector: labelSelectorOf(deployment) });
    await abreast(width, found, ({ metadata }) => spareMachine(kube, { pool, machine: metadata.name, release: true }));
  });
}

/** Only a machine that leaves has its node told, and before the hold ends, as machine-controller acts at once. */
async function endHold(kube: Kube, target: MemberRef & { node?: string }, machine: Machine): Promise<void> {
  if (target.node && machine.metadata.deletionTimestamp) await skipEviction(kube, target.node);
  await annotate(kube, target, ours(machine, target.pool, [holdAnnotation]));
}

// The hold of somebody else keeps machine-controller off as well. Gives what takes a new hold back.
async function ensureHeld(
  kube: Kube,
  target: MemberRef,
  { metadata }: Machine,
): Promise<(() => Promise<void>) | undefined> {
  if (metadata.annotations?.[holdAnnotation]) return undefined;
  await annotate(kube, target, { [holdAnnotation]: holderOf(target.pool) });
  return () => annotate(kube, target, { [holdAnnotation]: null });
}

// Only annotations with our own value are taken away; null removes in a merge patch.
function ours(machine: Machine, pool: PoolRef, keys: string[]): Record<string, null> {
  const mine = keys.filter((key) => isOwnHold(pool, machine.metadata.annotations?.[key]));
  return Object.fromEntries(mine.map((key) => [key, null]));
}

async function annotate(kube: Kube, target: MemberRef, annotations: Record<string, string | null>): Promise<void> {
  if (Object.keys(annotations).length === 0) return;
  await ifFound(patchObject(kube, machines, { ...nameOf(target), body: { metadata: { annotations } } }));
}

async function skipEviction(kube: Kube, name: string): Promise<void> {
  const body = { metadata: { annotations: { [skipEvictionAnnotation]: "true" } } };
  await ifFound(kube.core.patchNode({ name, body }, asMergePatch));
}

function find(kube: Kube, target: MemberRef): Promise<Machine | undefined> {
  return ifFound(readObject(kube, machines, nameOf(target)));
}

function nameOf({ pool, machine }: MemberRef): { namespace: string; name: string } {
  return { namespace: pool.namespace, name: machine };
}

// The annotations through which Ostler and machine-controller talk (machine-controller 1.66).

/** Any value makes machine-controller skip a Machine, on create and on delete: the hold. */
export const holdAnnotation = "machine-controller.kubermatic.io/initializers";
/** Any value makes machine-controller prefer a Machine when it scales down. */
export const victimAnnotation = "cluster.k8s.io/delete-machine";
/** Its presence on a Node makes machine-controller skip its own drain. */
export const skipEvictionAnnotation = "kubermatic.io/skip-eviction";
/** On a Machine, with a time as its value: a change for machine-controller to see. */
export const wakeAnnotation = "ostler.dev/woken-at";
/** Set by machine-controller right before it orders an instance. */
export const instanceFinalizer = "machine-delete-finalizer";

/** In a template: the start of the config's digest, so that machines with another one are replaced. */
export const configAnnotation = "ostler.dev/config";

// Makes a change of the config a change of the template, which machine-controller then rolls like any other.

/** Characters of the digest that are written. */
const stampLength = 16;

/**
 * Writes a digest of template and config into the template's annotations. They are not among what a config is rendered
 * from, so the config's digest stays what it is; and another template's stamp is another one, also for the same config.
 */
export function stampTemplate(kube: Kube, { pool, templateHash, configDigest }: TemplateStamp): Promise<void> {
  return attempting(`annotate the template of MachineDeployment "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    const stamp = sha256(`${templateHash} ${configDigest}`).slice(0, stampLength);
    if (!deployment || deployment.metadata.deletionTimestamp) return;
    const { metadata } = (deployment.spec.template ?? {}) as { metadata?: { annotations?: Record<string, unknown> } };
    if (metadata?.annotations?.[configAnnotation] === stamp) return;
    const body = { spec: { template: { metadata: { annotations: { [configAnnotation]: stamp } } } } };
    await ifFound(patchObject(kube, machineDeployments, { ...pool, body, fieldManager }));
  });
}
