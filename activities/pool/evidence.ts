/** The last thing the cluster said about a machine. */
import type { Kube } from "../kube/client.ts";

/** The newest Event about a Machine as "Reason: message", or undefined. */
export async function evidenceFor(kube: Kube, namespace: string, machine: string): Promise<string | undefined> {
  const fieldSelector = `involvedObject.kind=Machine,involvedObject.name=${machine}`;
  const { items } = await kube.core.listNamespacedEvent({ namespace, fieldSelector, limit: 50 });
  const when = (event: typeof items[number]): number =>
    new Date(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? 0).getTime();
  const newest = items.sort((a, b) => when(b) - when(a))[0];
  return newest && `${newest.reason ?? "Event"}: ${(newest.message ?? "").slice(0, 300)}`;
}
