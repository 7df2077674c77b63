/**
 * An independent observer that only watches the API server. It checks at every moment that a pool has enough Ready
 * nodes, not too many machines, and all of its secrets.
 */
import { openSource, type Source } from "./api_source.ts";
import { CollectionWatch } from "./collection_watch.ts";
import type { ObserverReport } from "./observer_report.ts";
import { type Kind, readers } from "./pool_facts.ts";
import { poolSecrets, secretsNamespace } from "./pool_names.ts";
import { PoolRecord } from "./pool_record.ts";

/** The collections to watch, and the expectations. */
export interface ObserverOptions {
  /** Path of a kubeconfig that may list and watch nodes, machines, VirtualMachines and the pools' secrets. */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Name of the MachineDeployment. */
  readonly pool: string;
  /** Minimum number of Ready nodes. */
  readonly replicas: number;
  /** Number of machines allowed above `replicas`; default 1. */
  readonly surge?: number;
  /** How long the final check waits for changes that were not received yet, in milliseconds; default 10 s. */
  readonly lastLookMs?: number;
  /** Source to use instead of the API server of the kubeconfig. */
  readonly source?: Source;
}

/** A running observer. */
export interface Observer {
  /** Starts the checks; call it when the pool has converged for the first time. */
  arm(): void;
  /** Returns the observations so far; the final check in `stop` can still add a gap. */
  report(): ObserverReport;
  /** Makes a final check, stops watching, and returns the final report; can be called repeatedly. */
  stop(): Promise<ObserverReport>;
}

/** Resolves when all collections are watched; rejects if a collection cannot be listed within 30 s. */
export async function startObserver(options: ObserverOptions): Promise<Observer> {
  const source = options.source ?? await openSource(options.kubeconfig);
  const record = recordFor(options);
  const watches = (Object.keys(readers) as Kind[]).map((kind) => watchOf(kind, { options, source, record }));
  const end = async (): Promise<void> => {
    await Promise.all(watches.map((watch) => watch.stop()));
    source.close();
  };
  try {
    await Promise.all(watches.map((watch) => watch.start()));
  } catch (error) {
    await end();
    throw error;
  }
  return observerOf(record, watches, end);
}

function observerOf(record: PoolRecord, watches: readonly CollectionWatch[], end: () => Promise<void>): Observer {
  const report = (): ObserverReport => {
    const resumes = watches.reduce((sum, watch) => sum + watch.resumes, 0);
    return record.report(watches.flatMap((watch) => watch.gaps), resumes);
  };
  let stopped: Promise<ObserverReport> | undefined;
  const stop = async (): Promise<ObserverReport> => {
    await Promise.all(watches.map((watch) => watch.catchUp()));
    await end();
    return report();
  };
  return { arm: () => record.arm(), report, stop: () => stopped ??= stop() };
}

function recordFor({ namespace, pool, replicas, surge = 1 }: ObserverOptions): PoolRecord {
  const secrets = Object.keys(poolSecrets({ namespace, name: pool }));
  return new PoolRecord({ replicas, allowedMachines: replicas + surge, secrets });
}

function watchOf(
  kind: Kind,
  { options, source, record }: { options: ObserverOptions; source: Source; record: PoolRecord },
): CollectionWatch {
  const { namespace, pool: name, lastLookMs = 10_000 } = options;
  return new CollectionWatch({
    source,
    path: pathOf(kind, namespace),
    read: (object) => readers[kind]({ namespace, name }, object),
    changed: (facts) => record.see(kind, facts),
    lastLookMs,
  });
}

function pathOf(kind: Kind, namespace: string): string {
  const paths: Record<Kind, string> = {
    nodes: "/api/v1/nodes",
    instances: "/apis/kubevirt.io/v1/virtualmachines",
    machines: `/apis/cluster.k8s.io/v1alpha1/namespaces/${namespace}/machines`,
    secrets: `/api/v1/namespaces/${secretsNamespace}/secrets`,
  };
  return paths[kind];
}
