/** Detects running processes of Operating System Manager and of Ostler. */
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { listEach } from "./listing.ts";
import { osmDeployment } from "./names.ts";

/** A Lease as read. */
export interface LeaseSeen {
  /** The Lease, as "namespace/name". */
  lease: string;
  holder: string;
  /** As written in the Lease; changes with each renewal. */
  renewTime: string;
  /** Seconds without a renewal after which the Lease is free. */
  seconds: number;
}

/**
 * Reads a Lease; undefined if it does not exist or has no holder. With two clusters, returns the Lease renewed last.
 */
export async function readLease(
  kube: Kube,
  where: { namespace: string; name: string },
): Promise<LeaseSeen | undefined> {
  const clusters = [kube, ...(kube.management ? [kube.management.kube] : [])];
  const found = await Promise.all(clusters.map((each) => leaseIn(each, where)));
  const seen = found.filter((lease) => lease !== undefined);
  return seen.sort((one, other) => Date.parse(other.renewTime) - Date.parse(one.renewTime))[0];
}

async function leaseIn(
  kube: Kube,
  where: { namespace: string; name: string },
): Promise<LeaseSeen | undefined> {
  const kind = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
  const found: unknown = await ifFound(kube.custom.getNamespacedCustomObject({ ...kind, ...where }));
  const { spec } = (found ?? {}) as {
    spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
  };
  if (!spec?.holderIdentity || !spec.renewTime) return undefined;
  const { holderIdentity: holder, renewTime, leaseDurationSeconds: seconds = 15 } = spec;
  return { lease: `${where.namespace}/${where.name}`, holder, renewTime, seconds };
}

/** Deployments that have or want pods, as "namespace/name", by system. */
interface AtWork {
  osm: string[];
  ours: string[];
}

/** The fields of a Deployment that show its system, and whether it has pods. */
export interface Deployment {
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec?: { replicas?: number };
  status?: { replicas?: number };
}

/**
 * Returns the Deployments of both systems that are not scaled to zero; `systemNamespace` is the namespace of Ostler's
 * Deployments.
 */
export async function readAtWork(kube: Kube, systemNamespace?: string): Promise<AtWork> {
  const found = await listDeployments(kube, systemNamespace, ({ metadata, spec, status }) => {
    const whose = whoseIs(metadata);
    const isAtWork = (spec?.replicas ?? 1) > 0 || (status?.replicas ?? 0) > 0;
    return whose && isAtWork ? [{ whose, name: `${metadata.namespace}/${metadata.name}` }] : [];
  });
  const of = (asked: "osm" | "ours"): string[] =>
    found.flat().filter(({ whose }) => whose === asked).map(({ name }) => name);
  return { osm: of("osm"), ours: of("ours") };
}

/** Reads all Deployments, also those of a management cluster, where only two namespaces belong to this cluster. */
export async function listDeployments<T>(
  kube: Kube,
  systemNamespace: string | undefined,
  read: (deployment: Deployment, kube: Kube) => T,
): Promise<T[]> {
  const kind = { group: "apps", version: "v1", plural: "deployments" };
  const { management } = kube;
  const found = await listEach(kube, kind, (object) => read(object as Deployment, kube));
  if (management) {
    // In all other namespaces of the management cluster, Deployments belong to other clusters.
    const namespaces = new Set([management.namespace, systemNamespace ?? management.namespace]);
    const there = (object: unknown): T => read(object as Deployment, management.kube);
    for (const namespace of namespaces) found.push(...await deploymentsIn(management.kube, namespace, there));
  }
  return found;
}

async function deploymentsIn<T>(kube: Kube, namespace: string, read: (object: unknown) => T): Promise<T[]> {
  const { items } = await kube.custom.listNamespacedCustomObject({
    ...{ group: "apps", version: "v1", plural: "deployments", namespace },
  }) as { items: unknown[] };
  return items.map(read);
}

/** Returns the system that a Deployment belongs to; undefined for any other Deployment. */
export function whoseIs({ name, labels }: Deployment["metadata"]): "osm" | "ours" | undefined {
  if (name === osmDeployment) return "osm";
  return labels?.["app.kubernetes.io/name"] === "ostler" ? "ours" : undefined;
}
