/** Cordons nodes and keeps the autoscaler off them, and undoes only what Ostler did. */
import type { V1Node } from "@kubernetes/client-node";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { attempting, ifFound, isFull } from "../kube/status.ts";
import { holderOf, isOwnHold } from "./holder.ts";

/** Annotation whose value "true" keeps cluster-autoscaler from removing a Node (FAQ of cluster-autoscaler). */
export const scaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/** Annotation of a Node that Ostler cordoned; its value is that of `holderOf` and names the pool. */
export const cordonedByAnnotation = "ostler.dev/cordoned-by";
/**
 * Annotation of a Node from which Ostler keeps the autoscaler off; its value is that of `holderOf` and names the pool.
 */
export const keptByAnnotation = "ostler.dev/scale-down-disabled-by";

interface NodeOf {
  pool: PoolRef;
  node: string;
}

interface NodeChange {
  spec?: { unschedulable: boolean | null };
  annotations: Record<string, string | null>;
}

/**
 * Keeps new pods and the autoscaler off a node, and marks only its own changes, so those of users and other controllers
 * are never undone. Idempotent: an absent node counts as success.
 */
export function ensureNodeCordoned(kube: Kube, { pool, node }: NodeOf): Promise<void> {
  return attempting(`cordon node "${node}"`, () => {
    return change(kube, node, ({ spec, metadata }) => {
      const isOpen = !spec?.unschedulable;
      const isScaled = metadata?.annotations?.[scaleDownDisabledAnnotation] === undefined;
      const holder = holderOf(pool);
      return {
        ...(isOpen ? { spec: { unschedulable: true } } : {}),
        annotations: {
          ...(isOpen ? { [cordonedByAnnotation]: holder } : {}),
          ...(isScaled ? { [scaleDownDisabledAnnotation]: "true", [keptByAnnotation]: holder } : {}),
        },
      };
    });
  });
}

/** Undoes what `ensureNodeCordoned` did for this pool, and nothing else. */
export function ensureNodeUncordoned(kube: Kube, { pool, node }: NodeOf): Promise<void> {
  return attempting(`uncordon node "${node}"`, () => {
    return change(kube, node, ({ metadata }) => {
      const isOurs = (key: string): boolean => isOwnHold(pool, metadata?.annotations?.[key]);
      return {
        ...(isOurs(cordonedByAnnotation) ? { spec: { unschedulable: null } } : {}),
        annotations: {
          ...(isOurs(cordonedByAnnotation) ? { [cordonedByAnnotation]: null } : {}),
          ...(isOurs(keptByAnnotation) ? { [scaleDownDisabledAnnotation]: null, [keptByAnnotation]: null } : {}),
        },
      };
    });
  });
}

/** Disables scale-down of a node by annotation, without a cordon; a node that has the annotation is unchanged. */
export function ensureNodeKept(kube: Kube, { pool, node }: NodeOf): Promise<void> {
  return attempting(`keep the autoscaler off node "${node}"`, () => {
    return change(kube, node, ({ metadata }) => ({
      annotations: metadata?.annotations?.[scaleDownDisabledAnnotation] === undefined
        ? { [scaleDownDisabledAnnotation]: "true", [keptByAnnotation]: holderOf(pool) }
        : {},
    }));
  });
}

/** Undoes what `ensureNodeKept` did for this pool; does nothing while the node is cordoned for the pool. */
export function ensureNodeNotKept(kube: Kube, { pool, node }: NodeOf): Promise<void> {
  return attempting(`allow the autoscaler to remove node "${node}" again`, () => {
    return change(kube, node, ({ metadata }) => {
      const isOurs = (key: string): boolean => isOwnHold(pool, metadata?.annotations?.[key]);
      const isOver = isOurs(keptByAnnotation) && !isOurs(cordonedByAnnotation);
      return { annotations: isOver ? { [scaleDownDisabledAnnotation]: null, [keptByAnnotation]: null } : {} };
    });
  });
}

// Applies the change that `changeOf` returns. The patch contains the resource version, so that the API server refuses
// to overwrite a concurrent change; callers repeat the step after such a conflict.
async function change(kube: Kube, name: string, changeOf: (node: V1Node) => NodeChange): Promise<void> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node) return;
  const { spec, annotations } = changeOf(node);
  if (!spec && Object.keys(annotations).length === 0) return;
  const { resourceVersion } = node.metadata ?? {};
  const version = resourceVersion ? { resourceVersion } : {};
  const patch = (metadata: object): Promise<V1Node | undefined> =>
    ifFound(kube.core.patchNode({ name, body: { metadata, ...(spec ? { spec } : {}) } }, asMergePatch));
  try {
    await patch({ ...version, annotations });
  } catch (error) {
    if (!isFull(error)) throw error;
    // Without its annotation, the cordon counts as that of a user, and stays.
    if (spec) await patch(version);
    // A run would repeat a removal that failed without an error, without end.
    if (Object.values(annotations).includes(null)) throw error;
  }
}
