/** Which CAs the machines of pools trust: from the bundles on their Rollouts, and the creation times of Machines. */
import { z } from "zod";
import { casIn } from "../../activities/status/ca_bundle.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { readAnnouncement } from "../../activities/kube/cluster_info.ts";
import { machines, machineSets, Metadata } from "../../activities/kube/resources.ts";
import { caBundlesIn, type PoolTrust, poolTrust } from "../../activities/status/ca_record.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { listAll } from "../connect/cluster.ts";
import type { PoolRow } from "./pool_row.ts";
import { poolName } from "./pools.ts";

/** A pool with what its machines trust of the present CAs. */
export interface TrustRow extends PoolTrust {
  pool: PoolRef;
  /** Whether new machines get exactly the present CAs. */
  isPublished: boolean;
  /** Whether machines get their CAs from Ostler; nothing is known of any others. */
  isGiven: boolean;
}

/** The present CAs of a cluster, and what the machines of its pools trust of them. */
export interface ClusterTrust {
  /** The CAs in ConfigMap cluster-info; without one, each pool is compared with what it publishes itself. */
  announced: string[] | undefined;
  rows: TrustRow[];
}

/** Reads all machines in the namespace, or in all namespaces; returns the given pools. */
export async function clusterTrust(
  kube: Kube,
  rows: readonly PoolRow[],
  namespace: string | undefined,
): Promise<ClusterTrust> {
  const [{ caPem } = {}, created] = await Promise.all([readAnnouncement(kube), readCreations(kube, namespace)]);
  const announced = caPem === undefined ? undefined : casIn(caPem);
  return { announced, rows: rows.map((row) => trustRow(row, created.get(poolName(row.pool)) ?? [], announced)) };
}

/**
 * Returns what the machines of one pool trust of the bundle that it publishes; undefined, without reading machines, if it
 * has published no other bundle.
 */
export async function ownTrust(kube: Kube, row: PoolRow): Promise<TrustRow | undefined> {
  if (row.pool.kind !== undefined || caBundlesIn(row.raw).length < 2) return undefined;
  const created = await readCreations(kube, row.pool.namespace);
  return trustRow(row, created.get(poolName(row.pool)) ?? [], undefined);
}

function trustRow({ pool, raw }: PoolRow, created: readonly number[], announced: string[] | undefined): TrustRow {
  const isGiven = pool.kind === undefined;
  const bundles = isGiven ? caBundlesIn(raw) : [];
  const { cas = [], partly } = bundles.at(-1) ?? {};
  const present = announced ?? cas;
  const isPublished = cas.length > 0 && partly === undefined && cas.join() === present.join();
  return { pool, ...poolTrust(bundles, created, present), isPublished, isGiven };
}

const Owned = z.object({ metadata: Metadata });

/** Returns the creation times (epoch ms) of Machines by the `namespace/name` of their MachineDeployment. */
async function readCreations(kube: Kube, namespace: string | undefined): Promise<Map<string, number[]>> {
  const where = namespace === undefined ? {} : { namespace };
  // Sets are read after machines, because a set exists before its machines and until they are deleted.
  const found = (await listAll(kube, machines, where)).flatMap(metadataOf);
  const sets = (await listAll(kube, machineSets, where)).flatMap(metadataOf);
  const poolOf = new Map(sets.map(({ uid, namespace, ownerReferences = [] }) => {
    return [uid, `${namespace}/${ownerReferences.find(({ kind }) => kind === "MachineDeployment")?.name}`];
  }));
  const byPool = new Map<string, number[]>();
  for (const { ownerReferences = [], creationTimestamp } of found) {
    const pool = ownerReferences.map(({ uid }) => poolOf.get(uid)).find((name) => name !== undefined);
    if (pool !== undefined) byPool.set(pool, [...byPool.get(pool) ?? [], Date.parse(creationTimestamp)]);
  }
  return byPool;
}

function metadataOf(object: unknown): Metadata[] {
  const { data } = Owned.safeParse(object);
  return data ? [data.metadata] : [];
}
