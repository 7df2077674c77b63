/**
 * Turns cluster-autoscalers off while nodes are replaced: sets the field `enabled` of AutoscalingStrategies, which
 * administrators set too. A hold is a lease, recorded in an annotation with its end; the first reconcile after the last
 * lease expired enables the strategy again.
 */
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import { listClusterObjects, patchClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { unavailable } from "../failures.ts";
import { autoscalingStrategies, type AutoscalingStrategy } from "../kube/update_kinds.ts";

/** Annotation of a strategy that a hold disabled: JSON that maps each holder to the end of its hold (epoch ms). */
const heldAnnotation = "ostler.dev/held-off-by";

const Holders = z.record(z.string(), z.number());

/** Returns the holders whose hold is not over at `now` (epoch ms); empty if an administrator disabled the strategy. */
export function holdersOf({ metadata }: Pick<AutoscalingStrategy, "metadata">, now: number): string[] {
  return Object.entries(readHolders(metadata)).filter(([, until]) => until > now).map(([holder]) => holder);
}

/**
 * Disables each enabled strategy and records the end of the hold; a strategy that an administrator disabled is
 * unchanged.
 */
export function holdAutoscalers(kube: Kube, { holder, until }: { holder: string; until: number }): Promise<void> {
  return attempting("turn off the cluster-autoscaler", async () => {
    for (const strategy of await listClusterObjects(kube, autoscalingStrategies)) {
      const holders = readHolders(strategy.metadata);
      const isHeld = Object.keys(holders).length > 0;
      if (!strategy.spec.enabled && !isHeld) continue;
      await write(kube, strategy, { enabled: false, holders: { ...holders, [holder]: until } });
    }
  });
}

/**
 * Makes each disabled strategy without holds a hold of `holder`. Only for strategies that the Constellation node
 * operator disabled while it replaced nodes: it records no hold, and would have enabled them at the end.
 */
export function takeOverHolds(kube: Kube, { holder, until }: { holder: string; until: number }): Promise<void> {
  return attempting("take over the hold of the cluster-autoscaler", async () => {
    for (const strategy of await listClusterObjects(kube, autoscalingStrategies)) {
      if (strategy.spec.enabled || Object.keys(readHolders(strategy.metadata)).length > 0) continue;
      await write(kube, strategy, { enabled: false, holders: { [holder]: until } });
    }
  });
}

/** Removes the holds of `holder`, and enables each AutoscalingStrategy that then has no hold left. */
export function letAutoscalersGo(kube: Kube, { holder }: { holder: string }): Promise<void> {
  return attempting("release the hold on the cluster-autoscaler", async () => {
    for (const strategy of await listClusterObjects(kube, autoscalingStrategies)) {
      const { [holder]: own, ...others } = readHolders(strategy.metadata);
      if (own === undefined) continue;
      await write(kube, strategy, { enabled: Object.keys(others).length === 0, holders: others });
    }
  });
}

/** Enables a strategy if it has holds and all of them are over at `now` (epoch ms); returns the current strategy. */
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
    return {}; // users can write any value
  }
}

/** Returns the updated strategy; undefined if it was deleted. Throws Transient (ApiUnavailable) on a conflict. */
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
