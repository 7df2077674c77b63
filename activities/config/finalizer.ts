/** The finalizer that keeps a MachineDeployment until everything made for it is gone. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { machineDeployments, patchObject, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { ownerOf } from "./ownership.ts";
import { finalizer } from "./pool_annotations.ts";

/**
 * Adds the finalizer where the MachineDeployment has none; must come before anything that it stands for. Moot where that one
 * is gone: nobody would take away what is made for it.
 */
export async function ensureFinalizer(kube: Kube, pool: PoolRef, { metadata }: MachineDeployment): Promise<void> {
  const add = (finalizers: string[]): string[] =>
    finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  if (await tryToWrite(kube, { pool, metadata, change: add })) return;
  // Somebody has changed it since it was read.
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (deployment && deployment.metadata.uid === metadata.uid) {
    await write(kube, { pool, metadata: deployment.metadata, change: add });
    return;
  }
  const state = deployment ? "there is another one of its name" : "it is gone";
  throw moot("GenerationStale", `Cannot publish the config of "${ownerOf(pool)}": ${state}`);
}

async function tryToWrite(kube: Kube, edit: Edit): Promise<boolean> {
  try {
    await write(kube, edit);
    return true;
  } catch (error) {
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
    return false;
  }
}

/** Takes the finalizer away; a MachineDeployment that is gone is done. */
export async function removeFinalizer(kube: Kube, pool: PoolRef): Promise<void> {
  const remove = (finalizers: string[]): string[] => finalizers.filter((name) => name !== finalizer);
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (deployment) await ifFound(write(kube, { pool, metadata: deployment.metadata, change: remove }));
}

/** A change of the list as it was read. */
interface Edit {
  pool: PoolRef;
  metadata: MachineDeployment["metadata"];
  change: (finalizers: string[]) => string[];
}

// The resource version makes the API server refuse the patch when somebody else changed the list meanwhile.
async function write(kube: Kube, { pool, metadata, change }: Edit): Promise<void> {
  const { resourceVersion, finalizers = [] } = metadata;
  const wanted = change(finalizers);
  if (wanted.length === finalizers.length) return;
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  await patchObject(kube, machineDeployments, { ...pool, body });
}
