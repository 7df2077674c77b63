/** Removes hands that nobody waits for any more: of orders whose worker, or whose run, is gone. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod } from "@kubernetes/client-node";
import { abreast } from "../kube/status.ts";
import { Shelf } from "../kube/cache.ts";
import { deletePod } from "../node/drain.ts";
import { handGraceSeconds, handLabels, handsNamespace, untilAnnotation } from "./hand_pod.ts";

const everyMs = 60_000;
/** Whoever still waits reads it in this time, also after an outage of the worker. */
const keptMs = 15 * 60_000;
const pageSize = 200;
const width = 10;

/** When they were swept last (epoch ms). */
const sweeps = new Shelf<number>(1);

/** Sweeps one page of hands, once a minute in a process however many orders it gives. */
export async function sweepHands(kube: Cluster, now = Date.now()): Promise<void> {
  const sweptAt = kube.cache.shelf(sweeps);
  if (now - (sweptAt.get("") ?? -Infinity) < everyMs) return;
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
