/** Kubernetes Events on a MachineDeployment, or on another object. */
import { activityInfo } from "@temporalio/activity";
import { createHash } from "node:crypto";
import type { PoolEvent } from "../../workflows/contracts/mod.ts";
import { sideBySide, statusOf } from "../kube/status.ts";
import type { Kube } from "../kube/client.ts";
import type { Metadata } from "../kube/resources.ts";

/** The object of the Events, a MachineDeployment unless `object` is set; a namespace of "" means none. */
export type Subject = Pick<Metadata, "namespace" | "name" | "uid"> & { object?: ObjectKind };

interface ObjectKind {
  apiVersion: string;
  kind: string;
}

/** The kind of a pool's object if its PoolRef does not name a kind. */
export const machineDeployment: ObjectKind = { apiVersion: "cluster.k8s.io/v1alpha1", kind: "MachineDeployment" };

/** Emits each Event once, even if the activity runs again, because the name of the Event is derived from its cause. */
export async function emitEvents(kube: Kube, about: Subject, events: PoolEvent[]): Promise<void> {
  await sideBySide(...events.map((event) => emit(kube, about, event)));
}

async function emit(
  kube: Kube,
  { name, uid, object = machineDeployment, ...at }: Subject,
  event: PoolEvent,
): Promise<void> {
  const now = new Date();
  // Events are namespaced; an Event about an object without a namespace is in this one (client-go, `GetReference` and
  // `makeEvent`).
  const namespace = at.namespace || "default";
  const body = {
    metadata: { name: `${name}.${causeOf(event)}`, namespace },
    involvedObject: { ...object, name, uid, ...(at.namespace ? { namespace } : {}) },
    ...event,
    message: event.message.slice(0, 1000),
    source: { component: "ostler" },
    ...{ firstTimestamp: now, lastTimestamp: now, count: 1 },
  };
  try {
    await kube.core.createNamespacedEvent({ namespace, body });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
}

function causeOf(event: PoolEvent): string {
  const { workflowExecution, activityId } = activityInfo();
  const cause = [workflowExecution?.runId, activityId, event.reason, event.message];
  return createHash("sha256").update(JSON.stringify(cause)).digest("hex").slice(0, 16);
}
