/**
 * Pins a pool to its last good profile and settings, of which Ostler kept a copy, until a user changes the profile or
 * settings that a rollback abandoned.
 */
import { z } from "zod";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { patchStatus, readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** The abandoned and the last good profile and settings, each as the hash that `inputsOf` returns. */
const Pin = z.object({ bad: z.string().min(1), good: z.string().min(1) });
export type Pin = z.infer<typeof Pin>;

/**
 * Returns the pin on a Rollout, even if the abandoned profile or settings have changed since; undefined without a pin.
 */
export function pinOf(rollout: RolloutObject | undefined): Pin | undefined {
  return Pin.safeParse(rollout?.status?.["pin"]).data;
}

/** Reads the pin of a pool from the API server. */
export async function readPin(kube: Kube, { namespace, name }: PoolRef): Promise<Pin | undefined> {
  return pinOf(await ifFound(readObject(kube, rollouts, { namespace, name })));
}

/**
 * Returns the hash of the last good profile and settings, if `live`, the hash of the current ones, is that of the
 * abandoned ones; otherwise undefined.
 */
export function pinnedInputs(pin: Pin | undefined, live: string): string | undefined {
  return pin?.bad === live ? pin.good : undefined;
}

/** Writes the pin on the pool's Rollout. */
export async function writePin(kube: Kube, { namespace, name }: PoolRef, pin: Pin): Promise<void> {
  await patchStatus(kube, rollouts, { namespace, name, status: { pin } });
}
