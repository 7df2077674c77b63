/**
 * Turns cluster-autoscalers off while nodes are replaced, by the same switch that people have. A hold is a lease: what was
 * found is written beside it, and whoever looks once it is over turns on again what nobody holds any more.
 */
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import { listClusterObjects, patchClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { unavailable } from "../failures.ts";
import { autoscalingStrategies, type AutoscalingStrategy } from "../kube/update_kinds.ts";

/** On a strategy that was on: who holds it off, and until when (epoch ms), as JSON. */
const heldAnnotation = "ostler.dev/held-off-by";

const Holders = z.record(z.string(), z.number());

/** Who holds it off by a hold that is not over at `now` (epoch ms); none for one that people turned off. */
export function holdersOf({ metadata }: Pick<AutoscalingStrategy, "metadata">, now: number): string[] {
  return Object.entries(readHolders(metadata)).filter(([, until]) => until > now).map(([holder]) => holder);
}

/** Turns off each that is on, and writes down until when; one that people turned off stays theirs. */
export function holdAutoscalers(kube: Kube, { holder, until }: { holder: string; until: number }): Promise<void> {
  return attempting("hold the cluster-autoscaler", async () => {
    for (const strategy of await listClusterObjects(kube, autoscalingStrategies)) {
      const holders = readHolders(strategy.metadata);
      const isHeld = Object.keys(holders).length > 0;
      if (!strategy.spec.enabled && !isHeld) continue;
      await write(kube, strategy, { enabled: false, holders: { ...holders, [holder]: until } });
    }
  });
}

/** Takes a hold back; turned on again is what nobody else holds. */
export function letAutoscalersGo(kube: Kube, { holder }: { holder: string }): Promise<void> {
  return attempting("release the hold on the cluster-autoscaler", async () => {
    for (const strategy of await listClusterObjects(kube, autoscalingStrategies)) {
      const { [holder]: own, ...others } = readHolders(strategy.metadata);
      if (own === undefined) continue;
      await write(kube, strategy, { enabled: Object.keys(others).length === 0, holders: others });
    }
  });
}

/** The strategy as it is to be taken at `now` (epoch ms): turned on again where all holds of it are over. */
export async function freedOfOldHolds(
  kube: Kube,
  strategy: AutoscalingStrategy,
  now: number,
): Promise<AutoscalingStrategy> {
  const isOver = Object.keys(readHolders(strategy.metadata)).length > 0 && holdersOf(strategy, now).length === 0;
  return isOver ? await write(kube, strategy, { enabled: true, holders: {} }) ?? strategy : strategy;
}

function readHolders({ annotations = {} }: AutoscalingStrategy["metadata"]): Record<string, number> {
  try {
    return Holders.safeParse(JSON.parse(annotations[heldAnnotation] ?? "{}")).data ?? {};
  } catch {
    return {}; // anybody may write there
  }
}

/** Undefined for a strategy that is gone. */
async function write(
  kube: Kube,
  { metadata: { name, resourceVersion } }: AutoscalingStrategy,
  { enabled, holders }: { enabled: boolean; holders: Record<string, number> },
): Promise<AutoscalingStrategy | undefined> {
  const held = Object.keys(holders).length === 0 ? null : JSON.stringify(holders);
  const body = { metadata: { resourceVersion, annotations: { [heldAnnotation]: held } }, spec: { enabled } };
  try {
    return await ifFound(patchClusterObject(kube, autoscalingStrategies, { name, body }));
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to update AutoscalingStrategy "${name}": conflict, the object was modified`);
  }
}
