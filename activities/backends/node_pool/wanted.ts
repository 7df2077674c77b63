/**
 * The desired state of a NodePool: its image, on all nodes that it selects; and the rollback to its last good image.
 */
import type { Cluster } from "../../cluster.ts";
import { z } from "zod";
import type { Desired, PoolRef, RestoreOrder } from "../../../workflows/contracts/mod.ts";
import { refused, unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { type NodePool, nodePools } from "../../kube/node_pools.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { readAcceptedImage } from "../../os_image/accepted_image.ts";
import type { Wanted } from "../contract.ts";
import { nodePoolNameOf, readNodePool, readSelected, refuseRivals } from "./selected.ts";
import { patchObject, readObject, rollouts } from "../../kube/resources.ts";
import { emitEvents, type Subject } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";

/**
 * Returns the desired state, or that the NodePool was deleted or is being deleted. Throws Refused if another NodePool
 * selects one of its nodes, or if its image is not accepted.
 */
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

/**
 * Returns the image of a pool as "repository@sha256:…", or a placeholder if its nodes update themselves. Throws Refused
 * if its OSImage is not accepted.
 */
export async function imageOf(kube: Kube, nodePool: NodePool): Promise<string> {
  const { metadata, spec: { image } } = nodePool;
  // The schema requires an image, except with the driver FleetLock.
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

/** Returns the field manager that wrote the spec last; "unknown" without one. */
function actorOf(managedFields: unknown[] | undefined): string {
  const fields = Written.safeParse(managedFields).data ?? [];
  const writes = fields.filter(({ fieldsV1 }) => "f:spec" in fieldsV1).sort((a, b) => b.time - a.time);
  return writes[0]?.manager || "unknown";
}

// The target of a pool is its image, "repository@sha256:…", or a placeholder if its nodes update themselves. Images
// with equal digests are the same image.

/** Splits "repository@sha256:…" into its two parts. */
export function partsOf(image: string): { repository: string; digest: string } {
  const [repository = "", digest = ""] = image.split("@");
  return { repository, digest };
}

/**
 * Prefix of the placeholder that stands for the image of nodes that update themselves, because such nodes choose their
 * image.
 */
const lockWord = "FleetLock/";
/** Template hash of nodes that neither request nor hold a lock. */
export const unlockedHash = "fleet-lock";

/** Returns the placeholder that is the target of a pool with driver FleetLock; undefined for every other driver. */
function lockTargetOf({ spec: { driver, fleetLock } }: Pick<NodePool, "spec">): string | undefined {
  return driver === "FleetLock" ? `${lockWord}${fleetLock?.group ?? "default"}` : undefined;
}

/** Returns whether a target is the placeholder instead of an image. */
export function isLockTarget(image: string): boolean {
  return image.startsWith(lockWord);
}

/** Returns the template hash of a target: from the image's digest, or a constant for nodes that update themselves. */
export function templateOf(image: string): string {
  return isLockTarget(image) ? unlockedHash : hashOf(partsOf(image).digest);
}

/** Returns the template hash of a digest: its first 20 hex digits, which are unique enough; "" without a digest. */
export function hashOf(digest: string): string {
  return digest.slice("sha256:".length).slice(0, 20);
}

/**
 * Returns a text that changes with anything that a rollout of the pool depends on, also with the digest of an OSImage
 * that the pool names, but not with the number of its nodes.
 */
export function observedOf(
  { metadata: { uid, generation = 0, deletionTimestamp } }: { metadata: Pick<NodePool["metadata"], Deciding> },
  digest = "",
): string {
  return [uid, generation, ...(deletionTimestamp ? ["deleting"] : []), ...(digest ? [hashOf(digest)] : [])].join("/");
}

type Deciding = "uid" | "generation" | "deletionTimestamp";

/**
 * Writes the last good image into the NodePool and emits an Event; returns whether this changed anything. Changes
 * nothing if the order names a bad change and the NodePool has another image. Throws Refused (LastGoodMissing) if no
 * rollout has converged yet, or if the nodes update themselves.
 */
export function restoreImage(kube: Kube, { pool, by, reason, bad }: RestoreOrder): Promise<{ changed: boolean }> {
  const name = nodePoolNameOf(pool);
  return attempting(`roll back NodePool "${pool.namespace}/${name}" to the last good image`, async () => {
    const nodePool = await readNodePool(kube, pool);
    if (!nodePool || nodePool.metadata.deletionTimestamp) return { changed: false };
    if (!nodePool.spec.image) {
      throw refused(
        "LastGoodMissing",
        `Failed to roll back NodePool "${pool.namespace}/${name}": its nodes update themselves and choose their image`,
      );
    }
    const { lastGood } = memoryOf(await ifFound(readObject(kube, rollouts, pool)));
    if (!lastGood?.image.includes("@sha256:")) {
      throw refused(
        "LastGoodMissing",
        `Failed to roll back NodePool "${pool.namespace}/${name}": none of its rollouts has converged yet`,
      );
    }
    const image = await imageOf(kube, nodePool);
    const isOther = bad !== undefined && templateOf(image) !== bad.templateHash;
    if (image === lastGood.image || isOther) return { changed: false };
    await writeImage(kube, nodePool, lastGood.image);
    const message = `Rolled back to image ${lastGood.image}, by ${by}: ${reason}`;
    await emitEvents(kube, subjectOf(nodePool), [{ type: "Warning", reason: "LastGoodRestored", message }]);
    return { changed: true };
  });
}

/** Writes an image into the spec; throws Transient if the NodePool was modified since it was read. */
async function writeImage(kube: Kube, { metadata }: NodePool, reference: string): Promise<void> {
  const { namespace, name, resourceVersion } = metadata;
  const body = { metadata: { resourceVersion }, spec: { image: { reference, osImage: null } } };
  try {
    await patchObject(kube, nodePools, { namespace, name, body, fieldManager: "ostler-restore" });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(
      `Failed to write the image of NodePool "${namespace}/${name}": conflict, the object was modified`,
    );
  }
}

const object = { apiVersion: "ostler.dev/v1alpha1", kind: "NodePool" };

/** Returns the object that a pool's Rollout and Events are about; undefined if it was deleted. */
export async function readSubject(kube: Kube, pool: PoolRef): Promise<Subject | undefined> {
  const nodePool = await readNodePool(kube, pool);
  return nodePool && subjectOf(nodePool);
}

function subjectOf({ metadata: { namespace, name, uid } }: Pick<NodePool, "metadata">): Subject {
  return { namespace, name, uid, object };
}
