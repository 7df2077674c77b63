/** Watches NodePools, their nodes and their Rollouts: which of them is news is decided as for any pool. */
import type { Logger } from "@temporalio/common";
import { nodePoolFinalizer } from "../activities/backends/node_pool/clean_up.ts";
import { observedOf } from "../activities/backends/node_pool/wanted.ts";
import { OSImage, osImages } from "../activities/kube/os_images.ts";
import { acceptedImageOf } from "../activities/os_image/accepted_image.ts";
import type { Kube } from "../activities/kube/client.ts";
import { Informer } from "../activities/kube/informer.ts";
import { NodePool, nodePools } from "../activities/kube/node_pools.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { nodePoolOf, poolOfNodePool } from "../workflows/commands/node_pool.ts";
import type { PoolWatch, WatchedPool } from "./pool_notifier.ts";
import { hasEnded, mayMean, watchedPolicies, watchedRollouts } from "./watched_facts.ts";
import { watchPoolNodes } from "./watch_pool_nodes.ts";

interface NodePoolDeps {
  kube: Kube;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** Of a pool, what decides. */
type PoolFacts = Pick<NodePool, "spec"> & { metadata: Omit<NodePool["metadata"], "annotations" | "managedFields"> };

const watchedPools: Resource<PoolFacts> = {
  ...nodePools,
  schema: NodePool.transform(({ metadata: { annotations: _, managedFields: __, ...metadata }, spec }) => {
    return { metadata, spec };
  }),
};

/** The digest of an image that may be used; "" of any other. */
const watchedImages: Resource<string> = {
  ...osImages,
  schema: OSImage.transform((image) => {
    const found = acceptedImageOf(image.metadata.name, image);
    return found.state === "Accepted" ? found.digest : "";
  }),
};

/** Pools are told by "namespace/name". */
export function watchNodePools(deps: NodePoolDeps): PoolWatch & { start(): Promise<void> } {
  const listeners: ((key: string) => void)[] = [];
  const tell = (key: string): void => listeners.forEach((listener) => listener(key));
  const pools = new Informer(watchedPools, { ...deps, onChange: tell });
  const tellAll = (): void => pools.keys().forEach(tell);
  const images = new Informer(watchedImages, { ...deps, onChange: tellAll });
  const rollouts = new Informer(watchedRollouts, { ...deps, onChange: (key) => tellOwn(key, tell) });
  const policies = new Informer(watchedPolicies, { ...deps, onChange: tellAll });
  const selecting = (): Iterable<[string, PoolFacts]> =>
    pools.keys().flatMap((key): [string, PoolFacts][] => {
      const found = pools.get(key);
      return found ? [[key, found]] : [];
    });
  const nodes = watchPoolNodes({ ...deps, selecting, onChange: tell });
  // Of one that is not accepted there is nothing to roll out: its pool is told again when it is.
  const digestOf = ({ spec: { image } }: PoolFacts): string =>
    image && "osImage" in image ? images.get(image.osImage) ?? "" : "";
  const find = (key: string): WatchedPool | undefined => {
    const found = pools.get(key);
    if (!found || !isServed(found)) return undefined;
    const { namespace, name, generation = 0, labels } = found.metadata;
    const pool = poolOfNodePool(namespace, name);
    const last = rollouts.get(`${namespace}/${pool.name}`);
    const isOpen = !hasEnded(last);
    const own = [...policies.values()].filter((policy) => policy.namespace === namespace && mayMean(policy, labels));
    return {
      ...{ pool, generation, isNumbered: true, observed: observedOf(found, digestOf(found)), reported: last?.observed },
      ...{ isOpen, ...(isOpen && last?.run ? { run: last.run } : {}) },
      isLeft: last?.phase === "Aborted" && !last.wentBack,
      policies: own.map((policy) => policy.version).sort().join(),
      illness: nodes.stateOf(key),
    };
  };
  return {
    find,
    keys: () => pools.keys(),
    onChange: (listener) => void listeners.push(listener),
    start: async () => {
      await Promise.all([pools, images, rollouts, policies, nodes].map((each) => each.start()));
    },
  };
}

/** A Rollout is of one pool, if it is of any of these. */
function tellOwn(rollout: string, tell: (key: string) => void): void {
  const [namespace = "", name = ""] = rollout.split("/");
  const own = nodePoolOf({ name });
  if (own !== undefined) tell(`${namespace}/${own}`);
}

/** One that goes is cleaned up after where we have to do with it. */
function isServed({ metadata: { deletionTimestamp, finalizers } }: PoolFacts): boolean {
  return !deletionTimestamp || (finalizers?.includes(nodePoolFinalizer) ?? false);
}
