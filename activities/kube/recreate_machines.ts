/** Requests the replacement of all machines of a MachineDeployment without any other change of its template. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "./client.ts";
import { machineDeployments, patchObject, readObject } from "./resources.ts";

/** In a template: the time of the last request. machine-controller replaces machines for any change of a template. */
const recreatedAnnotation = "ostler.dev/recreated-at";

/** Differs from the field manager of rollouts, so that a pool's history shows that a person requested this change. */
const fieldManager = "ostler-recreate";

/** Returns the merge patch that requests the replacement, with `now` (epoch ms) as the time of the request. */
export function recreation(now: number): { spec: { template: { metadata: { annotations: Record<string, string> } } } } {
  const annotations = { [recreatedAnnotation]: new Date(now).toISOString() };
  return { spec: { template: { metadata: { annotations } } } };
}

/**
 * A person's request to replace the machines of `pool`; the plan that the person has seen was made at this `generation`
 * of the MachineDeployment.
 */
interface RecreationOrder {
  pool: PoolRef;
  generation: number | undefined;
  /** Epoch ms. */
  now: number;
}

/**
 * Changes the template, which begins a rollout like any other change. Returns "Changed", without a write, if the
 * MachineDeployment is no longer at `generation`; throws the API's 404 for a deleted one, and its 409 for a conflict.
 */
export async function requestRecreation(
  kube: Kube,
  { pool: { namespace, name }, generation, now }: RecreationOrder,
): Promise<"Requested" | "Changed"> {
  const { metadata } = await readObject(kube, machineDeployments, { namespace, name });
  if (metadata.generation !== generation) return "Changed";
  const { resourceVersion } = metadata;
  const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), ...recreation(now) };
  await patchObject(kube, machineDeployments, { namespace, name, body, fieldManager });
  return "Requested";
}
