/** Goes back to what was last good: the image stands in the NodePool, so that is written there, with an Event that says so. */
import type { Kube } from "../../kube/client.ts";
import { nodePools } from "../../kube/node_pools.ts";
import { patchObject, readObject, rollouts } from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import { refused } from "../../failures.ts";
import { emitEvents } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";
import type { RestoreOrder } from "../contract.ts";
import { nodePoolNameOf, readNodePool } from "./selected.ts";
import { subjectOf } from "./subject.ts";
import { imageOf } from "./wanted.ts";

/** Refused as "LastGoodMissing" where no rollout has converged yet. */
export function restoreImage(kube: Kube, { pool, by, reason }: RestoreOrder): Promise<{ changed: boolean }> {
  const name = nodePoolNameOf(pool);
  return attempting(`roll back NodePool "${pool.namespace}/${name}" to the last good image`, async () => {
    const nodePool = await readNodePool(kube, pool);
    if (!nodePool || nodePool.metadata.deletionTimestamp) return { changed: false };
    if (!nodePool.spec.image) {
      throw refused(
        "LastGoodMissing",
        `Failed to roll back NodePool "${pool.namespace}/${name}": its nodes update themselves`,
      );
    }
    const { lastGood } = memoryOf(await ifFound(readObject(kube, rollouts, pool)));
    if (!lastGood?.image.includes("@sha256:")) {
      throw refused(
        "LastGoodMissing",
        `Failed to roll back NodePool "${pool.namespace}/${name}": none of its rollouts has converged yet`,
      );
    }
    if (await imageOf(kube, nodePool) === lastGood.image) return { changed: false };
    const body = { spec: { image: { reference: lastGood.image, osImage: null } } };
    await patchObject(kube, nodePools, { namespace: pool.namespace, name, body, fieldManager: "ostler-restore" });
    const message = `Rolled back to image ${lastGood.image}, by ${by}: ${reason}`;
    await emitEvents(kube, subjectOf(nodePool), [{ type: "Warning", reason: "LastGoodRestored", message }]);
    return { changed: true };
  });
}
