/** Which of two clusters has a kind: profiles and configs may be in the management cluster, beside the pools of another. */
import { refused } from "../failures.ts";
import type { Kube } from "./client.ts";

/** Where a kind is, as far as it matters here. */
interface Kind {
  group: string;
  version: string;
  plural: string;
}

/** Of the kinds that Operating System Manager keeps in the management cluster: all that it has. */
const managedGroup = "operatingsystemmanager.k8c.io";

/** Namespace in the cluster with the pools of what is of no pool, such as the budget that all share. */
export function sharedNamespace({ management }: Pick<Kube, "management">, profileNamespace: string): string {
  // That of profiles is one of the management cluster then.
  return management ? "kube-system" : profileNamespace;
}

/** The one namespace of the management cluster in which a kind is looked at; undefined for all kinds that are with the pools. */
export function namespaceOf({ management }: Pick<Kube, "management">, { group }: Kind): string | undefined {
  return group === managedGroup ? management?.namespace : undefined;
}

/**
 * The API server that has a kind. Of the management cluster one namespace is this installation's, as others of it may be of
 * other clusters: whoever writes MachineDeployments could else read there what is none of his.
 */
export function homeOf(kube: Kube, kind: Kind, namespace?: string): Kube {
  const { management } = kube;
  if (!management || kind.group !== managedGroup) return kube;
  if (namespace === undefined || namespace === management.namespace) return management.kube;
  const state = `the management cluster has what is of this cluster in namespace "${management.namespace}" alone`;
  throw refused("ObjectInvalid", `Cannot look at ${kind.plural} in namespace "${namespace}": ${state}`);
}

/** One page of all objects of a kind, or of all that are this installation's. */
export async function listThere(kube: Kube, kind: Kind, page: object): Promise<unknown> {
  const { group, version, plural } = kind;
  const { custom } = homeOf(kube, kind);
  const namespace = namespaceOf(kube, kind);
  const request = { group, version, plural, ...page };
  if (namespace === undefined) return await custom.listClusterCustomObject(request);
  return await custom.listNamespacedCustomObject({ ...request, namespace });
}
