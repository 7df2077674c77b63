import type { PoolName } from "../observer/pool_names.ts";
import type { ManifestObject } from "../stack/resource_paths.ts";

/** What the machines of a pool are to run. */
export interface Release {
  readonly image: string;
  readonly kubelet: string;
}

/** The demo's one pool. */
export const pool: PoolName = { namespace: "kube-system", name: "pool" };

/** What the machines run at first. */
export const firstRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-1", kubelet: "1.35.3" };

/** What they run in the end. */
export const nextRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-2", kubelet: "1.36.1" };

/** Path of the pool's MachineDeployment on the API server. */
export const poolPath = pathOfPool(pool.name);

/** The same of another one. */
export function pathOfPool(name: string): string {
  return `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machinedeployments/${name}`;
}

/** By which policies and people select the pool. */
export const labels = { pool: pool.name };

/** An object to be applied. */
export type Manifest = ManifestObject & { readonly spec: object };

/** What a pool is to be. */
export interface PoolShape {
  /** That of the demo's one pool unless told. */
  readonly name?: string;
  /** Of its nodes, beside the pool's own. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly replicas: number;
  readonly release: Release;
  /** Machines above `replicas` while rolling; 1 unless told. */
  readonly surge?: number;
  /** Name of its OperatingSystemProfile; osp-ubuntu unless told. */
  readonly profile?: string;
  /** As machine-controller's provider spec names it; ubuntu unless told. */
  readonly operatingSystem?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The pool's MachineDeployment, as a person would apply it. */
export function machineDeployment(shape: PoolShape): Manifest {
  const { name = pool.name, replicas, release, surge = 1, operatingSystem = "ubuntu" } = shape;
  const annotations = { "k8c.io/operating-system-profile": shape.profile ?? "osp-ubuntu", ...shape.annotations };
  const labels = { pool: name };
  const metadata = { ...pool, name, labels, annotations };
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDeployment",
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: surge, maxUnavailable: 0 } },
      minReadySeconds: 0,
      template: {
        metadata: { labels },
        spec: {
          metadata: { labels: { ...labels, ...shape.nodeLabels } },
          versions: { kubelet: release.kubelet },
          providerSpec: { value: providerConfig(release.image, operatingSystem) },
        },
      },
    },
  };
}

/** Merge patch that changes image and kubelet in one go. */
export function releasePatch({ image, kubelet }: Release): object {
  const template = { primaryDisk: { osImage: image } };
  const value = { cloudProviderSpec: { virtualMachine: { template } } };
  return { spec: { template: { spec: { versions: { kubelet }, providerSpec: { value } } } } };
}

function providerConfig(osImage: string, operatingSystem: string): object {
  const primaryDisk = {
    osImage,
    size: "10Gi",
    storageClassName: "simulated",
    storageAccessType: "ReadWriteOnce",
  };
  return {
    cloudProvider: "kubevirt",
    cloudProviderSpec: {
      auth: { kubeconfig: { value: "" } },
      virtualMachine: { template: { cpus: "1", memory: "1Gi", primaryDisk } },
    },
    operatingSystem,
    operatingSystemSpec: {},
  };
}

/** Pods that want to go on running while their machines are replaced, and the budget that says how many must. */
export const guests = { namespace: "default", name: "guests", replicas: 3, needed: 2 } as const;

/** The guests' Deployment and PodDisruptionBudget; their image matters only where containers really run. */
export function guestObjects(image = "ostler.example/guest:1"): Manifest[] {
  const { namespace, name, replicas, needed } = guests;
  const selector = { matchLabels: { app: name } };
  const container = { name, image };
  return [{
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name },
    spec: {
      replicas,
      selector,
      template: {
        metadata: { labels: { app: name } },
        spec: { terminationGracePeriodSeconds: 1, containers: [container] },
      },
    },
  }, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { namespace, name },
    spec: { minAvailable: needed, selector },
  }];
}
