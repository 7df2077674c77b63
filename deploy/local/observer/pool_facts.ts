import { isOfPool, type PoolName, poolSecrets } from "./pool_names.ts";

/** An object of the API server, as far as any kind has it. */
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

/** One kind's objects: the fact that counts, under each name. */
export type Facts = ReadonlyMap<string, boolean>;

/** Reads the one fact that counts, or undefined when the object is not the pool's. */
export type FactReader = (pool: PoolName, object: ApiObject) => boolean | undefined;

const holdAnnotation = "machine-controller.kubermatic.io/initializers";
const instanceFinalizer = "machine-delete-finalizer";

/**
 * For each kind the fact that is kept under an object's name, and nothing else of it: is the node Ready, is there an
 * instance, is the machine more than paper, has the secret its data.
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

/** The object's name. */
export function nameOf(object: ApiObject): string {
  return object.metadata?.name ?? "";
}

function isReady({ status }: ApiObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

// Held before it got an instance: it costs nothing and runs nothing.
function isPaper({ metadata }: ApiObject): boolean {
  return Boolean(metadata?.annotations?.[holdAnnotation]) && !metadata?.finalizers?.includes(instanceFinalizer);
}

function hasData({ data }: ApiObject, key: string): boolean {
  return Boolean((data as Record<string, string> | undefined)?.[key]);
}
