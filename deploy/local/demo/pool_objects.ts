import type { PoolName } from "../observer/pool_names.ts";
import type { ManifestObject } from "../stack/resource_paths.ts";

/** The image and kubelet of the machines of a pool. */
export interface Release {
  readonly image: string;
  readonly kubelet: string;
}

/** The pool of the demo. */
export const pool: PoolName = { namespace: "kube-system", name: "pool" };

/** The release of the pool at the start of a story. */
export const firstRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-1", kubelet: "1.35.3" };

/** The release to which a story changes the pool. */
export const nextRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-2", kubelet: "1.36.1" };

/** Path of the pool's MachineDeployment on the API server. */
export const poolPath = pathOfPool(pool.name);

/** Returns the path of the MachineDeployment of a pool on the API server. */
export function pathOfPool(name: string): string {
  return `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machinedeployments/${name}`;
}

/** The labels by which policies and people select the pool. */
export const labels = { pool: pool.name };

/** An object to apply. */
export type Manifest = ManifestObject & { readonly spec: object };

/** The fields of a pool. */
export interface PoolShape {
  /** Name of the pool; by default that of the demo's pool. */
  readonly name?: string;
  /** Labels of the pool's nodes in addition to its standard labels. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly replicas: number;
  readonly release: Release;
  /** Number of machines above `replicas` during a rollout; default 1. */
  readonly surge?: number;
  /** Name of the pool's OperatingSystemProfile; default osp-ubuntu. */
  readonly profile?: string;
  /** `operatingSystem` of machine-controller's provider config; default ubuntu. */
  readonly operatingSystem?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Returns the MachineDeployment of a pool, as a user would apply it. */
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

/** Returns a merge patch that changes image and kubelet together. */
export function releasePatch({ image, kubelet }: Release): object {
  const template = { primaryDisk: { osImage: image } };
  const value = { cloudProviderSpec: { virtualMachine: { template } } };
  return { spec: { template: { spec: { versions: { kubelet }, providerSpec: { value } } } } };
}

/** Returns the provider config of a machine of the simulated cloud. */
export function providerConfig(osImage: string, operatingSystem: string): object {
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

/**
 * The guests: pods of a Deployment that run on the machines. During a rollout, at least `needed` of them must stay
 * available (minAvailable of their PodDisruptionBudget).
 */
export const guests = { namespace: "default", name: "guests", replicas: 3, needed: 2 } as const;

/**
 * Returns Deployment and PodDisruptionBudget of the guests. The default image does not exist; only simulated machines,
 * which run no containers, can use it.
 */
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
