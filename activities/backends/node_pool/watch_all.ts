/** Watches NodePools, their OSImages and the nodes that they select; keeps only the facts whose changes it reports. */
import { createHash } from "node:crypto";
import type { Kube } from "../../kube/client.ts";
import { Informer } from "../../kube/informer.ts";
import { NodePool, nodePools } from "../../kube/node_pools.ts";
import { OSImage, osImages } from "../../kube/os_images.ts";
import type { Resource } from "../../kube/resources.ts";
import { acceptedImageOf } from "../../os_image/accepted_image.ts";
import type { PoolFacts, PoolSource, WatchDeps } from "../contract.ts";
import { nodePoolFinalizer } from "./clean_up.ts";
import { type PoolNode, poolNode } from "./pool_nodes.ts";
import { isSelected, poolOfNodePool, poolPrefix } from "./selected.ts";
import { observedOf } from "./wanted.ts";

/** Watches all NodePools; finds a NodePool that is being deleted only while it waits for Ostler to clean up. */
export function watchNodePools(kube: Kube, { onChange, ...deps }: WatchDeps): PoolSource {
  const tell = (name: string): void => onChange(keyOf(name));
  const pools: Informer<KeptPool> = new Informer(watchedPools, {
    ...{ kube, ...deps },
    onChange: (name, before) => {
      if (!isSameSelection(before, pools.get(name))) nodes.select(name);
      tell(name);
    },
  });
  const images = new Informer(watchedImages, {
    ...{ kube, ...deps },
    onChange: () => pools.keys().forEach((name) => tell(name)),
  });
  const nodes = watchNodes(kube, { ...deps, pools, onChange: tell });
  // A pool whose image is not accepted has digest "" here, so it is reported again once the image is accepted.
  const digestOf = ({ spec: { image } }: KeptPool): string =>
    image && "osImage" in image ? images.get(image.osImage) ?? "" : "";
  const find = (key: string): PoolFacts | undefined => {
    const name = nameIn(key);
    const found = pools.get(name);
    if (!found || !isServed(found)) return undefined;
    const { generation = 0, labels } = found.metadata;
    return {
      ...{ pool: poolOfNodePool(found.metadata), generation, isNumbered: true },
      ...{ observed: observedOf(found, digestOf(found)), labels },
      illness: () => nodes.stateOf(name),
    };
  };
  return {
    find,
    keys: () => pools.keys().map(keyOf),
    start: async () => void await Promise.all([pools, images, nodes].map((each) => each.start())),
  };
}

/** The facts kept of a NodePool. */
type KeptPool = Pick<NodePool, "spec"> & { metadata: Omit<NodePool["metadata"], "annotations" | "managedFields"> };

const watchedPools: Resource<KeptPool> = {
  ...nodePools,
  schema: NodePool.transform(({ metadata: { annotations: _, managedFields: __, ...metadata }, spec }) => {
    return { metadata, spec };
  }),
};

/** The digest of an accepted image; "" for any other. */
const watchedImages: Resource<string> = {
  ...osImages,
  schema: OSImage.transform((image) => {
    const found = acceptedImageOf(image.metadata.name, image);
    return found.state === "Accepted" ? found.digest : "";
  }),
};

/** Returns the key of the pool of a NodePool ("namespace/name"). */
function keyOf(nodePool: string): string {
  return nodePool.replace("/", `/${poolPrefix}`);
}

/** Returns the NodePool of a key, as "namespace/name"; "" for the key of any other pool. */
function nameIn(key: string): string {
  const name = key.replace(`/${poolPrefix}`, "/");
  return name === key ? "" : name;
}

function isServed({ metadata: { deletionTimestamp, finalizers } }: KeptPool): boolean {
  return !deletionTimestamp || (finalizers?.includes(nodePoolFinalizer) ?? false);
}

// Reports nodes that appeared, were deleted, changed their readiness, or booted without an order. Each change of a node
// updates what is kept for its NodePools; only a changed selector needs a pass over all nodes, and a heartbeat causes
// no read.

interface NodeDeps extends Pick<WatchDeps, "onChange" | "log" | "signal"> {
  pools: Informer<KeptPool>;
}

interface PoolNodeWatch {
  /**
   * Returns a hash of the nodes because of which a rollout of the NodePool has to read nodes: not Ready, booted since
   * Ostler last asked, or (with driver FleetLock) with a lock; "" without such nodes.
   */
  stateOf(nodePool: string): string;
  /** Finds the nodes of a NodePool again, after it was created or deleted or its selector changed. */
  select(nodePool: string): void;
  start(): Promise<void>;
}

const watchedNodes: Resource<PoolNode> = { group: "", version: "v1", plural: "nodes", schema: poolNode };

/**
 * Watches nodes; reports each NodePool that selects, or selected before, a node that appeared, was deleted, or changed
 * its labels, readiness, boot or lock.
 */
function watchNodes(kube: Kube, { pools, onChange, ...deps }: NodeDeps): PoolNodeWatch {
  const isOwner = (name: string, node: PoolNode): boolean => {
    const pool = pools.get(name);
    return pool !== undefined && isSelected(pool, node);
  };
  const owners = (node: PoolNode | undefined): string[] =>
    node ? pools.keys().filter((name) => isOwner(name, node)) : [];
  const nodes: Informer<PoolNode> = new Informer(watchedNodes, {
    ...{ kube, ...deps },
    onChange: (name, before) => {
      const now = nodes.get(name);
      if (before && now && isSameState(before, now) && isSameLabels(before, now)) return;
      const owning = new Set(owners(now));
      const all = new Set([...owners(before), ...owning]);
      for (const owner of all) note(owner, name, owning.has(owner) ? now : undefined);
      all.forEach((owner) => onChange(owner));
    },
  });
  /**
   * By NodePool and then by node: the text (`bootStateOf`, `lockStateOf`) of each node because of which a rollout has
   * to read the nodes.
   */
  const odd = new Map<string, Map<string, string>>();
  const note = (pool: string, name: string, node: PoolNode | undefined): void => {
    const stateIn = pools.get(pool)?.spec.driver === "FleetLock" ? lockStateOf : bootStateOf;
    const text = node ? stateIn(node) : "";
    if (text === "") odd.get(pool)?.delete(name);
    else odd.set(pool, (odd.get(pool) ?? new Map<string, string>()).set(name, text));
  };
  const select = (name: string): void => {
    odd.delete(name);
    const pool = pools.get(name);
    if (!pool) return;
    for (const node of nodes.values()) if (isSelected(pool, node)) note(name, node.name, node);
  };
  const stateOf = (name: string): string => {
    const texts = [...odd.get(name)?.values() ?? []].sort();
    return texts.length === 0 ? "" : createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 16);
  };
  return { stateOf, select, start: () => nodes.start() };
}

function isSameSelection(one: KeptPool | undefined, other: KeptPool | undefined): boolean {
  const textOf = (pool: KeptPool | undefined): string => JSON.stringify([pool?.spec.nodeSelector, pool?.spec.driver]);
  return textOf(one) === textOf(other);
}

function isSameLabels(one: PoolNode, other: PoolNode): boolean {
  return JSON.stringify(one.labels) === JSON.stringify(other.labels);
}

function isSameState(one: PoolNode, other: PoolNode): boolean {
  return bootStateOf(one) === bootStateOf(other) && lockStateOf(one) === lockStateOf(other);
}

/**
 * Returns a text for a node that is not Ready, or has booted since Ostler last asked what it runs; "" for any other.
 */
function bootStateOf({ name, bootId, isReady, note }: PoolNode): string {
  if (!isReady) return `${name} NotReady`;
  return note.bootId === bootId ? "" : `${name} ${bootId}`;
}

/**
 * Returns a text for a node that updates itself, and that is not Ready or requests or holds a lock; "" for any other
 * node.
 */
function lockStateOf({ name, isReady, lock }: PoolNode): string {
  if (lock) return `${name} asks since ${lock.asked}`;
  return isReady ? "" : `${name} NotReady`;
}
