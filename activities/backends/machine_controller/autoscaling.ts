/**
 * Keeps cluster-autoscaler from shrinking a pool while it is rolled. The autoscaler counts held new machines as
 * machines that never registered and removes them after 15 minutes, but never below the pool's minimum. So Ostler
 * raises the minimum to the current size, and records the previous minimum on the MachineDeployment. If another client
 * changes the minimum meanwhile, the value of that client applies after the rollout.
 */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Cluster } from "../../cluster.ts";
import { unavailable } from "../../failures.ts";
import { type MachineDeployment, machineDeployments, patchObject, readObject } from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { autoscalerBounds, formerMinimumAnnotation, isWithoutAutoscaler } from "./pool_watch.ts";

/**
 * Raises the pool's minimum size for cluster-autoscaler while the pool is rolled, and restores the previous minimum
 * afterwards.
 */
export function keepMinimum(kube: Cluster, pool: PoolRef, { isRolling }: { isRolling: boolean }): Promise<void> {
  const { namespace, name } = pool;
  return attempting(`set the autoscaler's minimum of MachineDeployment "${namespace}/${name}"`, async () => {
    // During a rollout, a pool that is not in the watch is skipped, because a later call may find it. After a rollout
    // there is only one call, so that call reads such a pool from the API server.
    if (isWithoutAutoscaler(kube, pool) ?? isRolling) return;
    const found = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
    const wanted = found && (isRolling ? raised(found) : restored(found));
    if (!wanted) return;
    const body = { metadata: { resourceVersion: found.metadata.resourceVersion, annotations: wanted } };
    try {
      await ifFound(patchObject(kube, machineDeployments, { namespace, name, body }));
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
      throw unavailable(
        `Failed to annotate MachineDeployment "${namespace}/${name}": conflict, the object was modified`,
      );
    }
  });
}

type Changes = Record<string, string | null>;

/** Returns the changed annotations; undefined if nothing is to be changed. */
function raised({ metadata: { annotations = {} }, spec }: MachineDeployment): Changes | undefined {
  const [now, most] = [annotations[autoscalerBounds.min], numberOf(annotations[autoscalerBounds.max])];
  const least = numberOf(now);
  if (now === undefined || least === undefined || most === undefined) return undefined;
  // The autoscaler refuses a group whose minimum is above its maximum.
  const wanted = String(Math.max(least, Math.min(spec.replicas ?? 0, most)));
  const record = recordOf(annotations);
  if (record?.now === now) {
    const next = String(Math.max(numberOf(record.was) ?? 0, Math.min(spec.replicas ?? 0, most)));
    return next === now ? undefined : written({ was: record.was, now: next });
  }
  return wanted === now && !record ? undefined : written({ was: now, now: wanted });
}

function restored({ metadata: { annotations = {} } }: MachineDeployment): Changes | undefined {
  if (annotations[formerMinimumAnnotation] === undefined) return undefined;
  const record = recordOf(annotations);
  const isOurs = record?.now === annotations[autoscalerBounds.min];
  return { [formerMinimumAnnotation]: null, ...(record && isOurs ? { [autoscalerBounds.min]: record.was } : {}) };
}

function written({ was, now }: Raise): Changes {
  return { [formerMinimumAnnotation]: `${was} ${now}`, [autoscalerBounds.min]: now };
}

/** The pool's minimum size before Ostler raised it, and the raised minimum. */
interface Raise {
  was: string;
  now: string;
}

/** Returns undefined for an unreadable record, because users can edit it. */
function recordOf(annotations: Readonly<Record<string, string>>): Raise | undefined {
  const [, was, now] = /^(\d{1,9}) (\d{1,9})$/.exec(annotations[formerMinimumAnnotation] ?? "") ?? [];
  return was === undefined || now === undefined ? undefined : { was, now };
}

function numberOf(text = ""): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
