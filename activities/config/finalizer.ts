/** The finalizer that keeps a MachineDeployment until everything made for it is gone. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { machineDeployments, patchObject, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { finalizer } from "./pool_annotations.ts";

/** Adds the finalizer where the MachineDeployment has none; must come before anything that it stands for. */
export async function ensureFinalizer(kube: Kube, pool: PoolRef, { metadata }: MachineDeployment): Promise<void> {
  const add = (finalizers: string[]): string[] =>
    finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  try {
    await write(kube, { pool, metadata, change: add });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    await edit(kube, pool, add); // somebody has changed it since it was read
  }
}

/** Takes the finalizer away; a MachineDeployment that is gone is done. */
export function removeFinalizer(kube: Kube, pool: PoolRef): Promise<void> {
  return edit(kube, pool, (finalizers) => finalizers.filter((name) => name !== finalizer));
}

type Change = (finalizers: string[]) => string[];

async function edit(kube: Kube, pool: PoolRef, change: Change): Promise<void> {
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (deployment) await write(kube, { pool, metadata: deployment.metadata, change });
}

/** A change of the list as it was read. */
interface Edit {
  pool: PoolRef;
  metadata: MachineDeployment["metadata"];
  change: Change;
}

// The resource version makes the API server refuse the patch when somebody else changed the list meanwhile.
async function write(kube: Kube, { pool, metadata, change }: Edit): Promise<void> {
  const { resourceVersion, finalizers = [] } = metadata;
  const wanted = change(finalizers);
  if (wanted.length === finalizers.length) return;
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  await ifFound(patchObject(kube, machineDeployments, { ...pool, body }));
}
