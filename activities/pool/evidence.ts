/** The last thing the cluster said about a machine. */
import type { MachineState } from "../backends/contract.ts";
import type { Kube } from "../kube/client.ts";

/** The newest Event about an object as "Reason: message", or undefined. */
export async function evidenceFor(
  kube: Kube,
  { kind, namespace, name }: MachineState["object"],
): Promise<string | undefined> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const { items } = await kube.core.listNamespacedEvent({ namespace, fieldSelector, limit: 50 });
  const when = (event: typeof items[number]): number =>
    new Date(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? 0).getTime();
  const newest = items.sort((a, b) => when(b) - when(a))[0];
  return newest && `${newest.reason ?? "Event"}: ${(newest.message ?? "").slice(0, 300)}`;
}
