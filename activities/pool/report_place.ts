/**
 * The config map that machines report to while they boot. Their token may patch it, and so make it immutable, fill it,
 * hold its deletion up, or have it collected: it is mended or made anew, and no publishing ever depends on it.
 */
import type { Cluster } from "../cluster.ts";
import type { V1ConfigMap } from "@kubernetes/client-node";
import { CancelledFailure } from "@temporalio/common";
import { randomInt } from "node:crypto";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { asMergePatch } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { isFresh, readReports } from "./boot_report.ts";

/** Machines looked for in one pass; what is left is found by a later one. */
const lookedAt = 20;
/** Characters above which it is made anew, metadata included: the API server takes a mebibyte of data. */
const largest = 800_000;

/** Makes sure that machines have a place to report to, and forgets a few of those that are gone; does what it can. */
export async function ensureBootReport(kube: Cluster, pool: PoolRef): Promise<void> {
  try {
    const map = await readReports(kube, pool);
    if (map && isSpoiled(map)) await removeBootReport(kube, pool);
    if (!map || isSpoiled(map)) return await create(kube, pool);
    await forgetGone(kube, pool, map.data ?? {});
  } catch (error) {
    // Whatever a machine wrote there, others have to boot.
    if (error instanceof CancelledFailure) throw error;
  }
}

/** Takes it away; nobody can hold that up. */
export async function removeBootReport(kube: Cluster, pool: PoolRef): Promise<void> {
  const where = placeOf(pool);
  const body = { metadata: { finalizers: null } };
  if (!await ifFound(kube.core.patchNamespacedConfigMap({ ...where, body }, asMergePatch))) return;
  await ifFound(kube.core.deleteNamespacedConfigMap(where));
}

// A controller that collects garbage would take it from all machines of the pool for the sake of such an owner.
function isSpoiled(map: V1ConfigMap): boolean {
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = map.metadata ?? {};
  const isHeld = finalizers.length > 0 || ownerReferences.length > 0 || deletionTimestamp !== undefined;
  return isHeld || map.immutable === true || JSON.stringify(map).length > largest;
}

async function create(kube: Cluster, pool: PoolRef): Promise<void> {
  const { name, namespace } = placeOf(pool);
  await kube.core.createNamespacedConfigMap({ namespace, body: { metadata: { name, namespace } } });
}

async function forgetGone(kube: Cluster, pool: PoolRef, reports: Record<string, string>): Promise<void> {
  const gone = await goneOf(kube, pool, reports);
  if (gone.length === 0) return;
  const data = Object.fromEntries(gone.map((key) => [key, null]));
  await kube.core.patchNamespacedConfigMap({ ...placeOf(pool), body: { data } }, asMergePatch);
}

async function goneOf(kube: Cluster, pool: PoolRef, reports: Record<string, string>): Promise<string[]> {
  const keys = Object.keys(reports).filter((key) => !isFresh(reports[key]));
  const start = keys.length > lookedAt ? randomInt(keys.length - lookedAt + 1) : 0;
  const looked = await Promise.all(
    keys.slice(start, start + lookedAt).map(async (key) => await isMachine(kube, pool, key) ? [] : [key]),
  );
  return looked.flat();
}

// A key that no machine could have is not asked for: it could be a path of its own.
async function isMachine(kube: Cluster, pool: PoolRef, name: string): Promise<boolean> {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) || name.includes("..")) return false;
  return await backendOf(kube, pool).state({ pool, machine: name }) !== undefined;
}

function placeOf(pool: PoolRef): { name: string; namespace: string } {
  return { name: namesOf(pool).bootReport, namespace: secretsNamespace };
}
