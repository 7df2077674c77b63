/**
 * Budgets that pools share: one for all pools, and one for control planes. Each is a ConfigMap with one key (a slot)
 * per machine that is out of service. The value is the time at which the slot was taken; for an upgrade of Kubernetes
 * or a renewal of certificates, it is the time at which the slot ends.
 */
import type { V1ConfigMap } from "@kubernetes/client-node";
import type { BudgetName, PoolRef, SlotAnswer, SlotOrder } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import { asMergePatch, type Kube, sharedNamespace } from "../kube/client.ts";
import { readObject, rollouts } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { isSlotOf, shortOf, upgradeIn } from "./upgraded_nodes.ts";
import { aheadOf, annotationOf, isPlaceNews, placeOf, queueAnnotation, queueIn, queueKeyOf } from "./slot_queue.ts";

export interface BudgetKeeper {
  kube: Kube;
  profileNamespace: string;
}

type Ledger = BudgetKeeper & { of: BudgetName };

const nameOf: Record<BudgetName, string> = { Pools: "ostler-budget", ControlPlanes: "ostler-control-planes" };
/** Separator of the parts of a key: Kubernetes allows it in keys, but not in names. */
const separator = "_";
/** Maximum length of a key of a ConfigMap. */
const longestKey = 253;
/** Number of conflicts after which the retry is left to the next attempt of the activity. */
const tries = 5;
/** Maximum number of holders that a message names. */
const named = 20;
/**
 * A slot younger than this (ms) does not count as abandoned, because the Rollout of its pool may not show yet that a
 * rollout began.
 */
const freshMs = 300_000;
/**
 * A slot whose time is further in the future than this (ms) was written with a wrong clock, and must not stay for ever.
 */
const longestSlotMs = 86_400_000;
const atRest = ["Converged", "RolledBack", "Aborted"];

/**
 * Takes a slot for the machine, unless it has one; returns the holders if all slots are taken, or if pools that are
 * ahead in the queue wait for all free ones. A pool that gets no slot is queued, so that a pool that releases a slot
 * cannot take it again immediately. With `begun` (the machine is already out of service) the queue does not count.
 */
export function ensureSlotTaken(
  { kube, profileNamespace }: BudgetKeeper,
  { of = "Pools", ...order }: SlotOrder,
): Promise<SlotAnswer> {
  const keeper: Ledger = { kube, profileNamespace, of };
  const queueKey = queueKeyOf(order.pool);
  const { urgency = "Normal", begun = false, limit, since, until } = order;
  return attempting(`take a slot of the shared budget for machine "${order.machine}"`, async () => {
    for (let nth = 0; nth < tries; nth++) {
      const map = await readBudget(keeper);
      const key = keyOf(order.pool, order.machine);
      const held = Object.keys(map?.data ?? {});
      const own = held.find((other) => isOf(order.pool, other, order.machine));
      const end = endOf(order.pool, until, Date.now());
      if (own !== undefined) {
        if (!end || isAbout(map?.data?.[own], end)) return { taken: true, holders: [] };
        if (await write(keeper, map, { data: { [own]: end } })) return { taken: true, holders: [] };
        continue;
      }
      const left = held.length < limit ? [] : await leftBehind(keeper.kube, map?.data ?? {});
      const holders = held.filter((other) => !left.includes(other));
      const now = Date.now();
      const queue = queueIn(map?.metadata?.annotations, now);
      const place = placeOf(queue, queueKey, { now, urgency, limit, since });
      const ahead = begun ? 0 : aheadOf(queue, queueKey, { place, held: holders.length });
      if (limit - holders.length <= ahead) {
        const answer = { taken: false, holders: namedOf(order.pool, holders), ahead };
        if (begun || !isPlaceNews(queue, queueKey, place)) return answer;
        if (await write(keeper, map, { data: {}, waiting: annotationOf(queue, queueKey, place) })) return answer;
        continue;
      }
      const data = {
        ...Object.fromEntries(left.map((other) => [other, null])),
        [key]: end ?? new Date(now).toISOString(),
      };
      const waiting = queueKey in queue ? { waiting: annotationOf(queue, queueKey) } : {};
      if (await write(keeper, map, { data, ...waiting })) return { taken: true, holders: [] };
    }
    throw unavailable(
      `Failed to take a slot of the shared budget: ConfigMap "${
        nameOf[of]
      }" was modified during each of ${tries} attempts`,
    );
  });
}

/**
 * Returns the end of a slot of an upgrade, because an upgrade has no Rollout that shows whether it is at rest;
 * undefined for the slot of a pool. The end is stored instead of the start, so that workers of an earlier version
 * respect the slot until then, too.
 */
function endOf(pool: PoolRef, until: number | undefined, now: number): string | undefined {
  if (pool.kind !== "ScalingGroup" || upgradeIn(pool) === undefined) return undefined;
  return new Date(Math.min(until ?? Infinity, now + longestSlotMs)).toISOString();
}

/** The least difference (ms) for which the end of a slot is rewritten. */
const renewalMs = 60_000;

function isAbout(time: string | undefined, end: string): boolean {
  return Math.abs(Date.parse(end) - Date.parse(time ?? "")) < renewalMs;
}

/**
 * A slot of an upgrade: the machine or node as its key names it (`isSlotOf`), and its end (epoch ms; 0 for an invalid
 * time).
 */
interface UpgradeSlot {
  machine: string;
  until: number;
}

/** Returns the slots of upgrades of Kubernetes in the budget of control planes, also those that have ended. */
export async function readUpgradeSlots({ kube, profileNamespace }: BudgetKeeper): Promise<UpgradeSlot[]> {
  const map = await readBudget({ kube, profileNamespace, of: "ControlPlanes" });
  return Object.entries(map?.data ?? {}).flatMap(([key, time]) => {
    const { namespace, name, machine } = partsOf(key);
    const isOfUpgrade = upgradeIn({ namespace, name }) !== undefined;
    return isOfUpgrade ? [{ machine, until: Date.parse(time) || 0 }] : [];
  });
}

/**
 * Returns the machines for which the pool has slots, as the keys name them (`isSlotOf`), including ended slots that the
 * ConfigMap still contains.
 */
export async function readSlotsOf(
  { kube, profileNamespace }: BudgetKeeper,
  { pool, of = "Pools" }: { pool: PoolRef; of?: BudgetName },
): Promise<string[]> {
  const map = await readBudget({ kube, profileNamespace, of });
  return Object.keys(map?.data ?? {}).filter((key) => isOf(pool, key)).map((key) => partsOf(key).machine);
}

/** Returns a test for slots that have not ended at `now` (epoch ms). */
export function isNow(now: number): (slot: UpgradeSlot) => boolean {
  return ({ until }) => until > now && until <= now + longestSlotMs + freshMs;
}

/** Releases the pool's slots except those of `machines`; if `machines` is empty, also the pool's place in the queue. */
export function ensureSlotsKept(
  { kube, profileNamespace }: BudgetKeeper,
  { pool, machines, of = "Pools" }: { pool: PoolRef; machines: string[]; of?: BudgetName },
): Promise<void> {
  const keeper: Ledger = { kube, profileNamespace, of };
  const queueKey = queueKeyOf(pool);
  return attempting(`release slots of pool "${pool.namespace}/${pool.name}" in the shared budget`, async () => {
    for (let left = tries - 1;; left--) {
      const map = await readBudget(keeper);
      const own = Object.keys(map?.data ?? {}).filter((key) => isOf(pool, key));
      const over = own.filter((key) => !machines.some((machine) => isOf(pool, key, machine)));
      const queue = machines.length === 0 ? queueIn(map?.metadata?.annotations, Date.now()) : {};
      const data = Object.fromEntries(over.map((key) => [key, null]));
      if (queueKey in queue && left > 0) {
        if (await write(keeper, map, { data, waiting: annotationOf(queue, queueKey) })) return;
        continue;
      }
      if (over.length === 0) return;
      // No other writer changes these keys, so the patch may be applied to any version of the ConfigMap. A place that
      // is left in the queue expires.
      const patch = { name: nameOf[of], namespace: namespaceOf(keeper), body: { data } };
      return void await ifFound(kube.core.patchNamespacedConfigMap(patch, asMergePatch));
    }
  });
}

function namespaceOf({ kube, profileNamespace }: BudgetKeeper): string {
  return sharedNamespace(kube, profileNamespace);
}

function readBudget(keeper: Ledger): Promise<V1ConfigMap | undefined> {
  const namespace = namespaceOf(keeper);
  return ifFound(keeper.kube.core.readNamespacedConfigMap({ name: nameOf[keeper.of], namespace }));
}

/** Creates or patches the ConfigMap; returns false on a conflict with another writer. */
async function write(
  keeper: Ledger,
  map: V1ConfigMap | undefined,
  { data, waiting }: { data: Record<string, string | null>; waiting?: string | null },
): Promise<boolean> {
  const { kube, of } = keeper;
  const name = nameOf[of];
  const namespace = namespaceOf(keeper);
  const queue = waiting === undefined ? {} : { annotations: { [queueAnnotation]: waiting } };
  const metadata = { name, namespace, resourceVersion: map?.metadata?.resourceVersion, ...queue };
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

// Finds slots of pools that were deleted or whose rollout has ended, because a run may end before it releases its
// slots.
async function leftBehind(kube: Kube, data: Record<string, string>): Promise<string[]> {
  const now = Date.now();
  const isFresh = (time: number): boolean => time > now - freshMs && time < now + longestSlotMs + freshMs;
  const old = Object.entries(data).filter(([, time]) => !isFresh(Date.parse(time)));
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
  const key = (cluster === undefined ? place : [cluster, ...place]).join(separator);
  // The pool's name stays whole, because the slots of a pool are found by it.
  return key.length <= longestKey ? key : [namespace, name, shortOf(machine)].join(separator);
}

/**
 * Returns whether a slot is the pool's, and is for `machine` if given. A key with any cluster name, or none, counts,
 * because all slots of the ConfigMap are of one cluster, which may have been renamed.
 */
function isOf(pool: PoolRef, key: string, machine?: string): boolean {
  const parts = partsOf(key);
  const isPool = parts.namespace === pool.namespace && parts.name === pool.name;
  return isPool && (machine === undefined || isSlotOf(parts.machine, machine));
}

function partsOf(key: string): { namespace: string; name: string; machine: string } {
  const [machine = "", name = "", namespace = ""] = key.split(separator).reverse();
  return { namespace, name, machine };
}

// Returns the holders of slots that a message names: those of the pool itself first, because its run may not know that
// it has them.
function namedOf(pool: PoolRef, keys: string[]): string[] {
  const inOrder = [...keys.filter((key) => isOf(pool, key)), ...keys.filter((key) => !isOf(pool, key))];
  return inOrder.slice(0, named).map(holderOf);
}

// Leaves the name of the cluster out, because all slots of the ConfigMap are of that cluster.
function holderOf(key: string): string {
  const { namespace, name, machine } = partsOf(key);
  return `${namespace}/${name}/${machine}`;
}
