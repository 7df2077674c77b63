/** A stranger who only watches the API server, and says whether a pool's rollout kept its promises at every moment. */
import { openSource, type Source } from "./api_source.ts";
import { CollectionWatch } from "./collection_watch.ts";
import type { ObserverReport } from "./observer_report.ts";
import { type Kind, readers } from "./pool_facts.ts";
import { poolSecrets, secretsNamespace } from "./pool_names.ts";
import { PoolRecord } from "./pool_record.ts";

/** Whom to watch, and what to expect. */
export interface ObserverOptions {
  /** Path of a kubeconfig that may list and watch nodes, machines, VirtualMachines and the pools' secrets. */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Name of the MachineDeployment. */
  readonly pool: string;
  /** Never fewer Ready nodes than this. */
  readonly replicas: number;
  /** Machines allowed above `replicas`; 1 unless told. */
  readonly surge?: number;
  /** How long the last look waits for changes that were made but not told yet; 10 s unless told. */
  readonly lastLookMs?: number;
  /** Stands in for the API server of the kubeconfig. */
  readonly source?: Source;
}

/** An observer at work. */
export interface Observer {
  /** Judges from now on: call it when the pool has converged for the first time. */
  arm(): void;
  /** What was seen so far; a gap may still turn up in the last look that `stop` takes. */
  report(): ObserverReport;
  /** Takes a last look, stops watching, and gives the final report; may be called again. */
  stop(): Promise<ObserverReport>;
}

/** Resolves when everything is watched; rejects when a collection cannot be listed in half a minute. */
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
