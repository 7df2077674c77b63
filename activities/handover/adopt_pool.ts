/**
 * Claims the objects that Operating System Manager made for a pool: adds Ostler's finalizer to the MachineDeployment,
 * then Ostler's owner annotation to the objects. The data of the objects does not change.
 */
import type { Cluster } from "../cluster.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { ownerAnnotation } from "../config/names.ts";
import { clusterMark } from "../config/identity.ts";
import { ensureFinalizer } from "../config/clean_up.ts";
import { asMergePatch } from "../kube/client.ts";
import { configs, machineDeployments, patchObject, readObject } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { artefactNames, type HandoverPool, keyOf, type Place } from "./pools.ts";

/**
 * Whether a pool can be taken over. Claim: Operating System Manager made its objects, and they can be claimed. Claimed:
 * Ostler has claimed or published them. Unpublished: there is no bootstrap secret. Collision: another pool has, or
 * would have, an object with the name of one of this pool's objects. Leaving: the MachineDeployment is deleted or being
 * deleted.
 */
export type Adoption = "Claim" | "Claimed" | "Unpublished" | "Collision" | "Leaving";

/** Returns whether a pool can be taken over, from facts that are known already, without a request. */
export function adoptionOf(pool: HandoverPool): Adoption {
  if (!pool.deployment || pool.deployment.isLeaving) return "Leaving";
  if (pool.rivals.length > 0 || pool.boot?.maker === "Other") return "Collision";
  if (pool.boot?.maker === "OSM") return "Claim";
  return pool.boot ? "Claimed" : "Unpublished";
}

/**
 * Claims the objects of a pool; does nothing if its MachineDeployment is deleted or being deleted. Idempotent. Of the
 * claimed objects only annotations change, which works for immutable secrets too: their data remains valid until Ostler
 * publishes the pool.
 */
export function adoptPool(
  { kube, profileNamespace }: Place & { kube: Cluster },
  pool: HandoverPool,
): Promise<void> {
  const owner = keyOf(pool);
  return attempting(`take over "${owner}"`, async () => {
    const { namespace, name } = pool;
    const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
    if (!deployment || deployment.metadata.deletionTimestamp) return;
    // The finalizer is added first, so that a deletion of the pool cleans up every claimed object.
    await ensureFinalizer(kube, { namespace, name }, deployment);
    const body = { metadata: { annotations: { [ownerAnnotation]: owner } } };
    const marked = { metadata: { annotations: { [ownerAnnotation]: owner, ...await clusterMark(kube) } } };
    const names = namesOf(pool);
    // The bootstrap secret is claimed last, so its owner annotation shows that all objects are claimed.
    for (const artefact of artefactNames(names).filter((each) => pool.artefacts.includes(each))) {
      const secret = { namespace: secretsNamespace, name: artefact, body };
      if (artefact !== names.config) await ifFound(kube.core.patchNamespacedSecret(secret, asMergePatch));
      else await ifFound(patchObject(kube, configs, { ...secret, body: marked, namespace: profileNamespace }));
    }
  });
}
