/** Kubernetes Events on a MachineDeployment. */
import { activityInfo } from "@temporalio/activity";
import { createHash } from "node:crypto";
import type { PoolEvent } from "../../workflows/contracts/mod.ts";
import { sideBySide } from "../kube/abreast.ts";
import type { Kube } from "../kube/client.ts";
import type { Metadata } from "../kube/schemas.ts";
import { statusOf } from "../kube/status.ts";

/** The MachineDeployment that it is about. */
export type Subject = Pick<Metadata, "namespace" | "name" | "uid">;

/** Emits each Event once, also when the activity runs again: its name comes from what caused it. */
export async function emitEvents(kube: Kube, about: Subject, events: PoolEvent[]): Promise<void> {
  await sideBySide(...events.map((event) => emit(kube, about, event)));
}

async function emit(kube: Kube, { namespace, name, uid }: Subject, event: PoolEvent): Promise<void> {
  const now = new Date();
  const body = {
    metadata: { name: `${name}.${causeOf(event)}`, namespace },
    involvedObject: { apiVersion: "cluster.k8s.io/v1alpha1", kind: "MachineDeployment", name, namespace, uid },
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
