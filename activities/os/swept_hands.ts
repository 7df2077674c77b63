/** Deletes abandoned hands: pods that execute orders on nodes, and whose worker or run has ended. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod } from "@kubernetes/client-node";
import { abreast } from "../kube/status.ts";
import { Shelf } from "../kube/cache.ts";
import { deletePod } from "../node/drain.ts";
import { handGraceSeconds, handLabels, handsNamespace, untilAnnotation } from "./hand_pod.ts";

const everyMs = 60_000;
/** Time (ms) for which a hand remains after its deadline, for a worker that reads the result after an outage. */
const keptMs = 15 * 60_000;
const pageSize = 200;
const width = 10;

/** Epoch ms of the last sweep. */
const sweeps = new Shelf<number>(1);

/** Lists at most 200 hands, and deletes the abandoned ones; does so at most once a minute in a process. */
export async function sweepHands(kube: Cluster, now = Date.now()): Promise<void> {
  const sweptAt = kube.cache.shelf(sweeps);
  // The difference is negative after the clock was set back.
  if (Math.abs(now - (sweptAt.get("") ?? -Infinity)) < everyMs) return;
  sweptAt.set("", now);
  const labelSelector = Object.entries(handLabels).map(([key, value]) => `${key}=${value}`).join(",");
  const { items } = await kube.core.listNamespacedPod({ namespace: handsNamespace, labelSelector, limit: pageSize });
  await abreast(width, items.filter((pod) => isLeft(pod, now)), (pod) => deletePod(kube, pod, handGraceSeconds));
}

function isLeft({ metadata }: V1Pod, now: number): boolean {
  const until = Date.parse(metadata?.annotations?.[untilAnnotation] ?? "");
  const since = Number.isNaN(until) ? new Date(metadata?.creationTimestamp ?? now).getTime() : until;
  return !metadata?.deletionTimestamp && now - since > keptMs;
}
