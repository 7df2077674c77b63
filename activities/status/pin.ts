/** Pins a pool to the last good profile, of which Ostler kept a copy, while the abandoned profile stays unchanged. */
import { z } from "zod";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { patchStatus, readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** The inputs of the abandoned and of the last good profile, as returned by `inputsOf`. */
const Pin = z.object({ bad: z.string().min(1), good: z.string().min(1) });
export type Pin = z.infer<typeof Pin>;

/** Returns the pin on a Rollout, whether or not it still holds. */
export function pinOf(rollout: RolloutObject | undefined): Pin | undefined {
  return Pin.safeParse(rollout?.status?.["pin"]).data;
}

/** Reads the pin of a pool from the API server. */
export async function readPin(kube: Kube, { namespace, name }: PoolRef): Promise<Pin | undefined> {
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
