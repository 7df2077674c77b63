/** What a NodePool asks for: its image, on as many nodes as it selects. */
import type { Cluster } from "../../cluster.ts";
import { z } from "zod";
import type { Desired, PoolRef } from "../../../workflows/contracts/mod.ts";
import { refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import type { NodePool } from "../../kube/node_pools.ts";
import { attempting } from "../../kube/status.ts";
import { readAcceptedImage } from "../../os_image/accepted_image.ts";
import type { Wanted } from "../contract.ts";
import { nodePoolNameOf, readNodePool, readSelected, refuseRivals } from "./selected.ts";
import { isLockTarget, lockTargetOf, observedOf, partsOf, templateOf } from "./target.ts";

/** Gone, being deleted, or present. Refused where another pool selects one of its nodes, or its image may not be used. */
export function readWanted(kube: Cluster, pool: PoolRef): Promise<Wanted> {
  return attempting(`read NodePool "${pool.namespace}/${nodePoolNameOf(pool)}"`, async () => {
    const nodePool = await readNodePool(kube, pool);
    if (!nodePool) return { state: "Gone" };
    const { metadata } = nodePool;
    if (metadata.deletionTimestamp) return { state: "Deleting" };
    const nodes = await readSelected(kube, nodePool);
    await refuseRivals(kube, nodePool, nodes);
    const desired = desiredOf(nodePool, { image: await imageOf(kube, nodePool), replicas: nodes.length });
    return { state: "Present", desired, labels: metadata.labels ?? {} };
  });
}

/** The image of a pool, as "repository@sha256:…", or what stands for none where nodes update themselves. Refused where it may not be used. */
export async function imageOf(kube: Kube, nodePool: NodePool): Promise<string> {
  const { metadata, spec: { image } } = nodePool;
  // The schema has one of the two.
  if (!image) return lockTargetOf(nodePool) ?? "";
  if ("reference" in image) return image.reference;
  const found = await readAcceptedImage(kube, { object: { name: image.osImage } });
  if (found.state === "Accepted") return `${found.image}@${found.digest}`;
  const pool = `${metadata.namespace}/${metadata.name}`;
  throw refused("ImageNotAccepted", `Failed to roll out an image in NodePool "${pool}": ${found.message}`);
}

function desiredOf(nodePool: NodePool, { image, replicas }: { image: string; replicas: number }): Desired {
  const hash = templateOf(image);
  const { metadata, spec } = nodePool;
  const { digest } = partsOf(image);
  const revision = isLockTarget(image) ? hash : digest.slice(7, 19);
  const observed = observedOf(nodePool, spec.image && "osImage" in spec.image ? digest : "");
  return {
    ...{ generation: metadata.generation ?? 0, settled: true, templateHash: hash, revision },
    ...{ observed, change: hash, specHash: hash, actor: actorOf(metadata.managedFields) },
    ...{ replicas, surge: 0, image, kubelet: "", profile: { name: metadata.name, namespace: metadata.namespace } },
  };
}

const Written = z.array(z.object({
  manager: z.string().default(""),
  time: z.union([z.string(), z.date()]).transform((value) => new Date(value).getTime()).default(0),
  fieldsV1: z.record(z.string(), z.unknown()).default({}),
}));

/** The field manager that wrote its spec last; "unknown" where none is known. */
function actorOf(managedFields: unknown[] | undefined): string {
  const fields = Written.safeParse(managedFields).data ?? [];
  const writes = fields.filter(({ fieldsV1 }) => "f:spec" in fieldsV1).sort((a, b) => b.time - a.time);
  return writes[0]?.manager || "unknown";
}
