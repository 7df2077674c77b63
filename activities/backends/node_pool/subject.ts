/** The object that a NodePool's Rollout and Events are about. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import type { NodePool } from "../../kube/node_pools.ts";
import type { Subject } from "../../status/events.ts";
import { readNodePool } from "./selected.ts";

const object = { apiVersion: "ostler.dev/v1alpha1", kind: "NodePool" };

/** Undefined for a pool that is gone. */
export async function readSubject(kube: Kube, pool: PoolRef): Promise<Subject | undefined> {
  const nodePool = await readNodePool(kube, pool);
  return nodePool && subjectOf(nodePool);
}

/** Of one that is there. */
export function subjectOf({ metadata: { namespace, name, uid } }: Pick<NodePool, "metadata">): Subject {
  return { namespace, name, uid, object };
}
