/** Pins a pool to the last good profile, which was kept, while the abandoned profile stays unchanged. */
import type { Cluster } from "../cluster.ts";
import { z } from "zod";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { patchStatus, readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import { recalledRollout } from "./recall.ts";

/** Both as returned by `inputsOf`. */
const Pin = z.object({ bad: z.string().min(1), good: z.string().min(1) });
export type Pin = z.infer<typeof Pin>;

/** Returns the pin on a Rollout, whether or not it still holds. */
export function pinOf(rollout: RolloutObject | undefined): Pin | undefined {
  return Pin.safeParse(rollout?.status?.["pin"]).data;
}

/** Returns the pin from the API server, unless it was read right before: only its run writes it. */
export async function readPin(kube: Cluster, { namespace, name }: PoolRef): Promise<Pin | undefined> {
  const recalled = recalledRollout(kube);
  if (recalled) return pinOf(recalled.rollout);
  return pinOf(await ifFound(readObject(kube, rollouts, { namespace, name })));
}

/** Returns the good inputs while the pin holds: the live profile is still the abandoned one. */
export function pinnedInputs(pin: Pin | undefined, live: string): string | undefined {
  return pin?.bad === live ? pin.good : undefined;
}

/** Writes the pin on the pool's Rollout. */
export async function writePin(kube: Kube, { namespace, name }: PoolRef, pin: Pin): Promise<void> {
  await patchStatus(kube, rollouts, { namespace, name, status: { pin } });
}
