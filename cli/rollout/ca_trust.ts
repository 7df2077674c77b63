/**
 * Finds out which CAs the machines of pools trust, from the bundles in their Rollouts and the creation times of
 * Machines.
 */
import { z } from "zod";
import { casIn } from "../../activities/status/ca_bundle.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { readAnnouncement } from "../../activities/kube/cluster_info.ts";
import { machines, machineSets, Metadata } from "../../activities/kube/resources.ts";
import { templateHashLabel } from "../../activities/kube/machine_deployment.ts";
import {
  caBundlesIn,
  isEffective,
  isOutdated,
  type PoolTrust,
  poolTrust,
  trustOf,
} from "../../activities/status/ca_record.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";
import type { PoolRow } from "./pool_row.ts";
import { type Chosen, noPools, poolName } from "./pools.ts";

/** How many machines of a pool trust the cluster's present CAs. */
export interface TrustRow extends PoolTrust {
  pool: PoolRef;
  /** Whether new machines get exactly the present CAs. */
  isPublished: boolean;
  /** Whether the pool's machines get their CAs from Ostler; otherwise the counts mean nothing. */
  isGiven: boolean;
  /** The template hashes of machines that are not known to trust exactly the present CAs. */
  outdatedTemplates: string[];
}

/** The present CAs of a cluster, and for each pool how many machines trust them. */
export interface ClusterTrust {
  /**
   * The CAs in the given bundle, else in ConfigMap cluster-info. Undefined if neither exists: each pool is then
   * compared with the CAs that it publishes.
   */
  present: string[] | undefined;
  rows: TrustRow[];
}

/** Returns why the chosen pools, of which `found` exist, include none whose machines get their CAs from Ostler. */
export function noGivenPools(chosen: Chosen, found: readonly PoolRow[]): string {
  return found.length === 0 ? noPools(chosen) : "the machines of the chosen pools do not get their CAs from Ostler";
}

/**
 * Reads the machines in the namespace (undefined for all namespaces), and returns a row for each given pool. `bundle`
 * is the PEM of the CAs that machines have to trust; by default, these are read from ConfigMap cluster-info.
 */
export async function clusterTrust(
  kube: Kube,
  rows: readonly PoolRow[],
  { namespace, bundle, now }: { namespace: string | undefined; bundle?: string | undefined; now: number },
): Promise<ClusterTrust> {
  const caPem = bundle ?? (await readAnnouncement(kube))?.caPem;
  const found = await readMachines(kube, namespace);
  const present = caPem === undefined ? undefined : casIn(caPem);
  return { present, rows: rows.map((row) => trustRow(row, found.get(poolName(row.pool)) ?? [], { present, now })) };
}

/**
 * Returns how many machines of one pool trust the CA bundle that the pool publishes now. Returns undefined if the pool
 * has published at most one bundle, so that no machine can have an older one, or if the user may not read machines.
 */
export async function ownTrust(kube: Kube, row: PoolRow, now: number): Promise<TrustRow | undefined> {
  if (row.pool.kind !== undefined || caBundlesIn(row.raw).length < 2) return undefined;
  const found = await ifAllowed(readMachines(kube, row.pool.namespace));
  return found && trustRow(row, found.get(poolName(row.pool)) ?? [], { present: undefined, now });
}

/** The facts about a Machine that show which CAs it trusts. */
interface SeenMachine {
  /** Epoch ms. */
  created: number;
  templateHash: string;
}

function trustRow(
  { pool, raw }: PoolRow,
  found: readonly SeenMachine[],
  { present: wanted, now }: { present: string[] | undefined; now: number },
): TrustRow {
  const isGiven = pool.kind === undefined;
  const bundles = isGiven ? caBundlesIn(raw) : [];
  const { cas = [], partly } = bundles.at(-1) ?? {};
  const present = wanted ?? cas;
  const isSame = cas.length > 0 && partly === undefined && cas.join() === present.join();
  const isPublished = isSame && isEffective(bundles, now);
  const outdated = found.filter(({ created }) => isOutdated(trustOf(bundles, created, present)));
  const counts = poolTrust(bundles, found.map(({ created }) => created), present);
  const outdatedTemplates = [...new Set(outdated.map(({ templateHash }) => templateHash))];
  return { pool, ...counts, isPublished, isGiven, outdatedTemplates };
}

const Owned = z.object({ metadata: Metadata });

/** Returns the Machines by the `namespace/name` of their MachineDeployment. */
async function readMachines(kube: Kube, namespace: string | undefined): Promise<Map<string, SeenMachine[]>> {
  const where = namespace === undefined ? {} : { namespace };
  // MachineSets are read after Machines, because a set exists before its Machines and until they are deleted.
  const found = (await listAll(kube, machines, where)).flatMap(metadataOf);
  const sets = (await listAll(kube, machineSets, where)).flatMap(metadataOf);
  const poolOf = new Map(sets.map(({ uid, namespace, ownerReferences = [] }) => {
    return [uid, `${namespace}/${ownerReferences.find(({ kind }) => kind === "MachineDeployment")?.name}`];
  }));
  const byPool = new Map<string, SeenMachine[]>();
  for (const { ownerReferences = [], creationTimestamp, labels } of found) {
    const pool = ownerReferences.map(({ uid }) => poolOf.get(uid)).find((name) => name !== undefined);
    if (pool === undefined) continue;
    const seen = { created: Date.parse(creationTimestamp), templateHash: labels?.[templateHashLabel] ?? "" };
    const others = byPool.get(pool);
    if (others) others.push(seen);
    else byPool.set(pool, [seen]);
  }
  return byPool;
}

function metadataOf(object: unknown): Metadata[] {
  const { data } = Owned.safeParse(object);
  return data ? [data.metadata] : [];
}
