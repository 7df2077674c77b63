import { isOfPool, type PoolName, poolSecrets } from "./pool_names.ts";

/** The common fields of API objects of every kind. */
export interface ApiObject {
  metadata?: {
    name?: string;
    namespace?: string;
    annotations?: Record<string, string>;
    finalizers?: string[];
    resourceVersion?: string;
  };
  [field: string]: unknown;
}

/** A kind of object that is watched. */
export type Kind = "nodes" | "instances" | "machines" | "secrets";

/** The relevant fact of each object of one kind, by name. */
export type Facts = ReadonlyMap<string, boolean>;

/** Returns the relevant fact of an object, or undefined if the object does not belong to the pool. */
export type FactReader = (pool: PoolName, object: ApiObject) => boolean | undefined;

const holdAnnotation = "machine-controller.kubermatic.io/initializers";
const instanceFinalizer = "machine-delete-finalizer";

/**
 * Readers of the one fact that is kept for an object: whether the node is Ready, the instance exists, the Machine
 * object counts (see `isPaper`), or the secret has its data.
 */
export const readers: Record<Kind, FactReader> = {
  nodes: (pool, object) => isOfPool(pool, nameOf(object)) ? isReady(object) : undefined,
  instances: (pool, object) => isOfPool(pool, nameOf(object)) ? true : undefined,
  machines: (pool, object) => isOfPool(pool, nameOf(object)) ? !isPaper(object) : undefined,
  secrets: (pool, object) => {
    const key = poolSecrets(pool)[nameOf(object)];
    return key === undefined ? undefined : hasData(object, key);
  },
};

/** Returns the name of an object. */
export function nameOf(object: ApiObject): string {
  return object.metadata?.name ?? "";
}

function isReady({ status }: ApiObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

// While a Machine object has the hold annotation, machine-controller creates no instance for it. Without an instance it
// does not count, because it costs nothing and runs nothing.
function isPaper({ metadata }: ApiObject): boolean {
  return Boolean(metadata?.annotations?.[holdAnnotation]) && !metadata?.finalizers?.includes(instanceFinalizer);
}

function hasData({ data }: ApiObject, key: string): boolean {
  return Boolean((data as Record<string, string> | undefined)?.[key]);
}
