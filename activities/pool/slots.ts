/** Budgets that pools share, that of all and that of control planes: a ConfigMap each, with one key a machine that is out, and since when. */
import type { V1ConfigMap } from "@kubernetes/client-node";
import type { BudgetName, PoolRef } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import { asMergePatch, type Kube, sharedNamespace } from "../kube/client.ts";
import { readObject, rollouts } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";

export interface BudgetKeeper {
  kube: Kube;
  profileNamespace: string;
}

export interface SlotOrder {
  pool: PoolRef;
  machine: string;
  /** Places there are in all. */
  limit: number;
  /** Whose budget; that of all pools unless told. */
  of?: BudgetName;
}

type Ledger = BudgetKeeper & { of: BudgetName };

const nameOf: Record<BudgetName, string> = { Pools: "ostler-budget", ControlPlanes: "ostler-control-planes" };
/** No character of a name in Kubernetes, yet one of a key. */
const separator = "_";
/** Writers that may be faster before it is left to the next try of the activity. */
const tries = 5;
/** Holders that are named. */
const named = 20;
/** A place is taken shortly before the rollout is reported: only older ones can be left behind. */
const freshMs = 300_000;
const atRest = ["Converged", "RolledBack", "Aborted"];

/** Takes a place for the machine, once; when all are taken, tells who has them. */
export function ensureSlotTaken(
  { kube, profileNamespace }: BudgetKeeper,
  { of = "Pools", ...order }: SlotOrder,
): Promise<{ taken: boolean; holders: string[] }> {
  const keeper: Ledger = { kube, profileNamespace, of };
  return attempting(`take a place of the shared budget for machine "${order.machine}"`, async () => {
    for (let nth = 0; nth < tries; nth++) {
      const map = await readBudget(keeper);
      const key = keyOf(order.pool, order.machine);
      const held = Object.keys(map?.data ?? {});
      if (held.some((other) => isOf(order.pool, other, order.machine))) return { taken: true, holders: [] };
      const left = held.length < order.limit ? [] : await leftBehind(keeper.kube, map?.data ?? {});
      const holders = held.filter((other) => !left.includes(other));
      if (holders.length >= order.limit) return { taken: false, holders: namedOf(order.pool, holders) };
      const data = { ...Object.fromEntries(left.map((other) => [other, null])), [key]: new Date().toISOString() };
      if (await write(keeper, map, data)) return { taken: true, holders: [] };
    }
    throw unavailable(`Cannot take a place of the shared budget: ConfigMap "${nameOf[of]}" changed ${tries} times`);
  });
}

/** Gives back the pool's places except those of `machines`. */
export function ensureSlotsKept(
  { kube, profileNamespace }: BudgetKeeper,
  { pool, machines, of = "Pools" }: { pool: PoolRef; machines: string[]; of?: BudgetName },
): Promise<void> {
  const keeper: Ledger = { kube, profileNamespace, of };
  return attempting(`give back places of the shared budget of "${pool.namespace}/${pool.name}"`, async () => {
    const map = await readBudget(keeper);
    const own = Object.keys(map?.data ?? {}).filter((key) => isOf(pool, key));
    const over = own.filter((key) => !machines.some((machine) => isOf(pool, key, machine)));
    if (over.length === 0) return;
    // Nobody else writes these keys, so no version has to fit.
    const data = Object.fromEntries(over.map((key) => [key, null]));
    const patch = { name: nameOf[of], namespace: namespaceOf(keeper), body: { data } };
    await ifFound(kube.core.patchNamespacedConfigMap(patch, asMergePatch));
  });
}

function namespaceOf({ kube, profileNamespace }: BudgetKeeper): string {
  return sharedNamespace(kube, profileNamespace);
}

function readBudget(keeper: Ledger): Promise<V1ConfigMap | undefined> {
  const namespace = namespaceOf(keeper);
  return ifFound(keeper.kube.core.readNamespacedConfigMap({ name: nameOf[keeper.of], namespace }));
}

/** False when somebody else was faster. */
async function write(
  keeper: Ledger,
  map: V1ConfigMap | undefined,
  data: Record<string, string | null>,
): Promise<boolean> {
  const { kube, of } = keeper;
  const name = nameOf[of];
  const namespace = namespaceOf(keeper);
  const metadata = { name, namespace, resourceVersion: map?.metadata?.resourceVersion };
  try {
    if (map) {
      await kube.core.patchNamespacedConfigMap({ name, namespace, body: { metadata, data } }, asMergePatch);
    } else {await kube.core.createNamespacedConfigMap({
        namespace,
        body: { metadata: { name, namespace }, data: data as Record<string, string> },
      });}
    return true;
  } catch (error) {
    if (statusOf(error) === 409 || statusOf(error) === 404) return false;
    throw error;
  }
}

// Of pools that are gone or at rest: their run ended before it could give the place back.
async function leftBehind(kube: Kube, data: Record<string, string>): Promise<string[]> {
  const old = Object.entries(data).filter(([, since]) => !(Date.parse(since) > Date.now() - freshMs));
  const pools = new Map<string, Promise<boolean>>();
  const found = await Promise.all(old.map(async ([key]) => {
    const { namespace, name } = partsOf(key);
    const id = `${namespace}/${name}`;
    const resting = pools.get(id) ?? isAtRest(kube, { namespace, name });
    pools.set(id, resting);
    return await resting ? [key] : [];
  }));
  return found.flat();
}

async function isAtRest(kube: Kube, pool: PoolRef): Promise<boolean> {
  const rollout = await ifFound(readObject(kube, rollouts, pool));
  return rollout === undefined || atRest.includes(rollout.status?.phase ?? "");
}

function keyOf({ cluster, namespace, name }: PoolRef, machine: string): string {
  const place = [namespace, name, machine];
  return (cluster === undefined ? place : [cluster, ...place]).join(separator);
}

/** A place is the pool's, and `machine`'s where one is named; also one that was taken before its cluster had a name. */
function isOf(pool: PoolRef, key: string, machine?: string): boolean {
  const parts = partsOf(key);
  const isPool = parts.namespace === pool.namespace && parts.name === pool.name;
  const isCluster = parts.cluster === undefined || parts.cluster === pool.cluster;
  return isPool && isCluster && (machine === undefined || parts.machine === machine);
}

function partsOf(key: string): { cluster: string | undefined; namespace: string; name: string; machine: string } {
  const [machine = "", name = "", namespace = "", cluster] = key.split(separator).reverse();
  return { cluster, namespace, name, machine };
}

// Those of the pool itself first, which it may have forgotten, and as the pool knows them.
function namedOf(pool: PoolRef, keys: string[]): string[] {
  const inOrder = [...keys.filter((key) => isOf(pool, key)), ...keys.filter((key) => !isOf(pool, key))];
  return inOrder.slice(0, named).map(holderOf);
}

// Without the cluster: it is the one that the ConfigMap is of.
function holderOf(key: string): string {
  const { namespace, name, machine } = partsOf(key);
  return `${namespace}/${name}/${machine}`;
}
