/** One cluster as a process sees it; `workers/` and `cli/` open it once and pass it on. */
import type { Driver } from "./clouds/driver.ts";
import type { Etcd } from "./etcd/etcd.ts";
import { refused } from "./failures.ts";
import { Cache } from "./kube/cache.ts";
import type { Kube } from "./kube/client.ts";
import { SharedWatch } from "./kube/informer.ts";
import type { Resource } from "./kube/resources.ts";
import type { ReadServed } from "./x509/served_certificate.ts";
import { NodeWatch } from "./node/node_watch.ts";
import { Outlook } from "./pool/outlook.ts";

/** The clients of a cluster's API server, and the state that the process keeps about the cluster. */
export interface Cluster extends Kube {
  readonly watches: Watches;
  readonly nodes: NodeWatch;
  readonly cache: Cache;
  readonly outlook: Outlook;
  readonly cloud: Cloud;
  /** Creates a client of the etcd on these hosts; if absent, etcd is expected on the cluster's control plane nodes. */
  readonly etcd?: OpenEtcd;
  /** Reads the certificate that a server presents; if absent, a TLS handshake with the server is used. */
  readonly readServed?: ReadServed;
  /** The `-join-cluster-timeout` of machine-controller (ms); if absent, machine-controller has none. */
  readonly joinTimeoutMs?: number;
}

/** Creates a client of the etcd that runs on the machines with these addresses. */
export type OpenEtcd = (hosts: readonly string[]) => Etcd;

/** Options of a cluster besides its clients. */
export interface ClusterMeans {
  /** Opens the driver of the cluster's cloud; if absent, the cluster has no scaling groups. */
  cloud?: (() => Promise<Driver>) | undefined;
  etcd?: OpenEtcd;
  readServed?: ReadServed;
  joinTimeoutMs?: number;
}

/** Returns a cluster that uses the clients of `kube`; sends no request. */
export function openCluster(kube: Kube, { cloud, etcd, readServed, joinTimeoutMs }: ClusterMeans = {}): Cluster {
  return {
    ...kube,
    watches: new Watches(kube),
    nodes: new NodeWatch(kube),
    cache: new Cache(),
    outlook: new Outlook(),
    cloud: new Cloud(cloud),
    ...(etcd ? { etcd } : {}),
    ...(readServed ? { readServed } : {}),
    ...(joinTimeoutMs ? { joinTimeoutMs } : {}),
  };
}

/** Holds one watch for each kind of object that a part of the process follows. */
export class Watches {
  readonly #kube: Kube;
  readonly #watches = new Map<Resource<unknown>, SharedWatch<unknown>>();

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /**
   * Returns the watch of a resource, created for the first caller. The resource object itself is the key, so all
   * callers must pass the same constant.
   */
  of<T>(resource: Resource<T>, options: { lasts?: boolean } = {}): SharedWatch<T> {
    const known = this.#watches.get(resource) ?? new SharedWatch<unknown>(this.#kube, resource, options);
    this.#watches.set(resource, known);
    return known as SharedWatch<T>;
  }
}

const defaultReadMs = 5_000;

/** The cloud that has the scaling groups of a cluster. */
export class Cloud {
  readonly #open: (() => Promise<Driver>) | undefined;
  #driver: Promise<Driver> | undefined;
  #lookEvery: number | undefined;

  constructor(open: (() => Promise<Driver>) | undefined) {
    this.#open = open;
  }

  /**
   * Returns the driver, which only the first call opens, because its library is large. Throws Refused (CloudRefused) if
   * no cloud is configured. After a failure the next call tries to open the driver once more.
   */
  async driver(): Promise<Driver> {
    if (!this.#open) {
      throw refused(
        "CloudRefused",
        "Failed to read scaling groups: no cloud is configured; set --cloud for Ostler's processes (docs/how-to/scaling-groups.md)",
      );
    }
    this.#driver ??= this.#open();
    try {
      const driver = await this.#driver;
      this.#lookEvery = driver.lookEvery;
      return driver;
    } catch (error) {
      this.#driver = undefined;
      throw error;
    }
  }

  /** Milliseconds between two reads of the cloud while a step waits. */
  get lookEvery(): number {
    return this.#lookEvery ?? defaultReadMs;
  }
}
