/** The finalizer that keeps a MachineDeployment until everything made for it is gone. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { machineDeployments, patchObject, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { ifFound } from "../kube/status.ts";
import { finalizer } from "./pool_annotations.ts";

/** Adds the finalizer where the MachineDeployment has none; must come before anything that it stands for. */
export async function ensureFinalizer(kube: Kube, pool: PoolRef, { metadata }: MachineDeployment): Promise<void> {
  if (metadata.finalizers?.includes(finalizer)) return;
  await edit(kube, pool, (finalizers) => finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer]);
}

/** Takes the finalizer away; a MachineDeployment that is gone is done. */
export function removeFinalizer(kube: Kube, pool: PoolRef): Promise<void> {
  return edit(kube, pool, (finalizers) => finalizers.filter((name) => name !== finalizer));
}

// The resource version makes the API server refuse the patch when somebody else changed the list meanwhile.
async function edit(kube: Kube, pool: PoolRef, change: (finalizers: string[]) => string[]): Promise<void> {
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (!deployment) return;
  const { resourceVersion, finalizers = [] } = deployment.metadata;
  const wanted = change(finalizers);
  if (wanted.length === finalizers.length) return;
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  await ifFound(patchObject(kube, machineDeployments, { ...pool, body }));
}
