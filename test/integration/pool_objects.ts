/** Builders of the objects that stories create. */
import { providerConfig, releasePatch } from "../../deploy/local/demo/pool_objects.ts";

export interface PoolOverrides {
  name?: string;
  namespace?: string;
  replicas?: number | null;
  kubelet?: string;
  image?: string;
  profile?: string;
  operatingSystem?: string;
  provider?: string;
  /** Maximum number of machines above `replicas` during a rollout. */
  surge?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Fields that are merged into providerSpec.value. */
  provision?: Record<string, unknown>;
}

export interface RolloutStatus {
  phase: string;
  reason: string;
  message: string;
  observedGeneration: number;
  revision?: string;
  convergedTemplateHash?: string;
  updated?: string;
  failedMachines?: number;
  blockedReason?: string | null;
  credentials?: { expiresAt: string; renewAt: string };
  caBundles?: { since?: string; cas: string[] }[];
  conditions: { type: string; status: string; reason: string; message: string }[];
  history?: { revision: string; outcome: string; machines: number }[];
  image?: string;
  paused?: boolean;
  readyReplicas?: number;
  updatedReplicas?: number;
  underway?: { machine: string; step: string; blockers?: object[] }[];
  quarantine?: { image: string; specHash: string }[];
}

export function poolPath(name: string, namespace = "kube-system"): string {
  return `${poolsPath(namespace)}/${name}`;
}

export function poolsPath(namespace = "kube-system"): string {
  return `/apis/cluster.k8s.io/v1alpha1/namespaces/${namespace}/machinedeployments`;
}

export function secretPath(name: string): string {
  return `/api/v1/namespaces/cloud-init-settings/secrets/${name}`;
}

/** A MachineDeployment of the simulated cloud. */
export function machineDeployment(overrides: PoolOverrides = {}): object {
  const { name = "pool", namespace = "kube-system", replicas = 1 } = overrides;
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDeployment",
    metadata: {
      name,
      namespace,
      labels: overrides.labels ?? {},
      annotations: { "k8c.io/operating-system-profile": overrides.profile ?? "osp-ubuntu", ...overrides.annotations },
    },
    spec: {
      ...(replicas === null ? {} : { replicas }),
      selector: { matchLabels: { pool: name } },
      ...strategyOf(overrides),
      template: { metadata: { labels: { pool: name } }, spec: machineSpec(overrides) },
    },
  };
}

function strategyOf({ surge }: PoolOverrides): object {
  if (surge === undefined) return {};
  return { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: surge, maxUnavailable: 0 } } };
}

/** A RolloutPolicy for the pools with these labels. */
export function rolloutPolicy(name: string, spec: object, labels: Record<string, string>): object {
  return {
    apiVersion: "ostler.dev/v1alpha1",
    kind: "RolloutPolicy",
    metadata: { name, namespace: "kube-system" },
    spec: { selector: { matchLabels: labels }, ...spec },
  };
}

export function policiesPath(): string {
  return "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rolloutpolicies";
}

function machineSpec(overrides: PoolOverrides): object {
  const { kubelet = "1.35.3", image = "docker://images.example/ubuntu:1", provider = "kubevirt" } = overrides;
  const config = providerConfig(image, overrides.operatingSystem ?? "ubuntu");
  return {
    versions: { kubelet },
    providerSpec: { value: { ...config, cloudProvider: provider, ...overrides.provision } },
  };
}

/** A merge patch that changes image and kubelet of a pool. */
export function rollTo(kubelet: string, image = `docker://images.example/ubuntu:${kubelet}`): object {
  return releasePatch({ kubelet, image });
}

/** A Deployment of pods and its PodDisruptionBudget. */
export function workload(name: string, replicas: number): { deployment: object; budget: object } {
  const labels = { app: name };
  const selector = { matchLabels: labels };
  const container = { name: "c", image: "images.example/pause:1" };
  return {
    deployment: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: "default" },
      spec: { replicas, selector, template: { metadata: { labels }, spec: { containers: [container] } } },
    },
    budget: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name, namespace: "default" },
      spec: { minAvailable: replicas - 1, selector },
    },
  };
}
