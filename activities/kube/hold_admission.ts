/** Who holds new machines from their first moment: the API server by its own policy, where it has that kind, else our webhook. */
import type { Kube } from "./client.ts";
import { ifFound } from "./status.ts";

export const admissionGroup = { group: "admissionregistration.k8s.io", version: "v1" } as const;
/** Of policy, binding and webhook configuration alike. */
export const holdName = "hold-new-machines.ostler.dev";

/** `nobody`: newcomers boot unasked, and a rollout is paced by machine-controller alone. */
export type NewMachinesHeldBy = "policy" | "webhook" | "nobody";

/** Whether the policy stands and is bound; servers before Kubernetes 1.36 have no such kind, which is a 404 as well. */
export async function isHeldByPolicy(kube: Kube): Promise<boolean> {
  // On older servers one request tells.
  for (const plural of ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"]) {
    if (!await ifFound(kube.custom.getClusterCustomObject({ ...admissionGroup, plural, name: holdName }))) return false;
  }
  return true;
}

/** As it stands in the cluster, whether or not the webhook answers. */
export async function newMachinesHeldBy(kube: Kube): Promise<NewMachinesHeldBy> {
  if (await isHeldByPolicy(kube)) return "policy";
  const where = { ...admissionGroup, plural: "mutatingwebhookconfigurations", name: holdName };
  const found = await ifFound<unknown>(kube.custom.getClusterCustomObject(where));
  const { webhooks = [] } = (found ?? {}) as { webhooks?: unknown[] };
  return webhooks.length > 0 ? "webhook" : "nobody";
}
