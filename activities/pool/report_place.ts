/**
 * Keeps the ConfigMap to which machines report while they boot. With their token they can patch it, and so make it
 * immutable, fill it, add a finalizer, or add an owner so that it is garbage-collected. So a damaged ConfigMap is
 * recreated, and no publication depends on it.
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

/** Maximum number of reports whose machine is looked up in one pass; later passes check the others. */
const lookedAt = 20;
/** Characters, with metadata, above which the ConfigMap is recreated: the API server accepts a mebibyte of data. */
const largest = 800_000;

/** Ensures that machines have a ConfigMap to report to, and removes reports of a few deleted machines; best effort. */
export async function ensureBootReport(kube: Cluster, pool: PoolRef): Promise<void> {
  try {
    const map = await readReports(kube, pool);
    if (map && isSpoiled(map)) await removeBootReport(kube, pool);
    if (!map || isSpoiled(map)) return await create(kube, pool);
    await forgetGone(kube, pool, map.data ?? {});
  } catch (error) {
    // Every failure except a cancellation is ignored: a machine can damage the ConfigMap, which must not stop other
    // machines from booting.
    if (error instanceof CancelledFailure) throw error;
  }
}

/** Deletes the ConfigMap; first removes its finalizers, which could delay the deletion. */
export async function removeBootReport(kube: Cluster, pool: PoolRef): Promise<void> {
  const where = placeOf(pool);
  const body = { metadata: { finalizers: null } };
  if (!await ifFound(kube.core.patchNamespacedConfigMap({ ...where, body }, asMergePatch))) return;
  await ifFound(kube.core.deleteNamespacedConfigMap(where));
}

// A ConfigMap is spoiled if it is immutable, too large or being deleted, or has a finalizer or an owner: with an owner,
// the garbage collector could delete it.
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

// A key that cannot be the name of a machine is not requested: in a URL it could name another path.
async function isMachine(kube: Cluster, pool: PoolRef, name: string): Promise<boolean> {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) || name.includes("..")) return false;
  return await backendOf(kube, pool).state({ pool, machine: name }) !== undefined;
}

function placeOf(pool: PoolRef): { name: string; namespace: string } {
  return { name: namesOf(pool).bootReport, namespace: secretsNamespace };
}
