/** The annotations through which Ostler and machine-controller talk (machine-controller 1.66). */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";

export const revisionAnnotation = "machinedeployment.clusters.k8s.io/revision";
export const templateHashLabel = "machine-template-hash";
export const profileAnnotation = "k8c.io/operating-system-profile";
export const profileNamespaceAnnotation = "k8c.io/operating-system-profile-namespace";
export const finalizer = "kubermatic.io/cleanup-operating-system-configs";

/** Any value makes machine-controller skip a Machine, on create and on delete: the hold. */
export const holdAnnotation = "machine-controller.kubermatic.io/initializers";
/** Any value makes machine-controller prefer a Machine when it scales down. */
export const victimAnnotation = "cluster.k8s.io/delete-machine";
/** Its presence on a Node makes machine-controller skip its own drain. */
export const skipEvictionAnnotation = "kubermatic.io/skip-eviction";
/** "true" keeps cluster-autoscaler from removing a Node (its FAQ). */
export const scaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/** On a Node that we cordoned: the holder. */
export const cordonedByAnnotation = "ostler.dev/cordoned-by";
/** On a Node that we keep from the autoscaler: the holder. */
export const keptByAnnotation = "ostler.dev/scale-down-disabled-by";
/** On a Machine, with a time as its value: a change for machine-controller to see. */
export const wakeAnnotation = "ostler.dev/woken-at";
/** Set by machine-controller right before it orders an instance. */
export const instanceFinalizer = "machine-delete-finalizer";

/** In a template: the start of the config's digest, so that machines with another one are replaced. */
export const configAnnotation = "ostler.dev/config";

/** The value of our holds and marks: the workflow's id, so nobody else's are ever touched. */
export function holderOf({ cluster, namespace, name }: PoolRef): string {
  const id = `machine-deployment/${namespace}/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** A hold or mark is the pool's own: also one of before its cluster had a name, or of the API server's policy, which knows none. */
export function isOwnHold(pool: PoolRef, value: string | undefined): boolean {
  return value === holderOf(pool) || value === holderOf({ namespace: pool.namespace, name: pool.name });
}
