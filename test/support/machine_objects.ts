/** Builders of the Kubernetes objects around a pool, each with overrides. */
import { Buffer } from "node:buffer";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { FakeKube, Stored } from "./fake_kube.ts";

export const pool: PoolRef = { namespace: "fleet", name: "pool" };

/** The value with which the rollout of `pool` holds and marks machines. */
export const holder = "machine-deployment/fleet/pool";

export const hold = "machine-controller.kubermatic.io/initializers";
export const mark = "cluster.k8s.io/delete-machine";
export const revisionKey = "machinedeployment.clusters.k8s.io/revision";
const instanceFinalizer = "machine-delete-finalizer";

/** A provider config as the embedded stack uses it. */
export function providerConfig(image = "docker://example/ubuntu:1"): Record<string, unknown> {
  return {
    cloudProvider: "kubevirt",
    cloudProviderSpec: { virtualMachine: { template: { primaryDisk: { osImage: image } } } },
    operatingSystem: "ubuntu",
    operatingSystemSpec: {},
  };
}

export interface DeploymentOverrides {
  annotations?: Record<string, string>;
  metadata?: Record<string, unknown>;
  spec?: Record<string, unknown>;
  value?: unknown;
  kubelet?: string;
}

/** A MachineDeployment to which machine-controller has given revision 1. */
export function machineDeployment(overrides: DeploymentOverrides = {}): Stored {
  const { annotations, metadata, spec, value = providerConfig(), kubelet = "1.35.3" } = overrides;
  return {
    metadata: {
      ...{ ...pool, uid: "uid-of-pool", generation: 1 },
      annotations: { "k8c.io/operating-system-profile": "osp-ubuntu", [revisionKey]: "1", ...annotations },
      ...metadata,
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { pool: "pool" } },
      template: { spec: { versions: { kubelet }, providerSpec: { value } } },
      ...spec,
    },
    status: { observedGeneration: 1 },
  };
}

/** The MachineSet of a template of MachineDeployment fleet/pool; by default of the current template. */
export function machineSet(revision = "1", hash = "hash-1"): Stored {
  return {
    metadata: {
      ...{ namespace: "fleet", name: `pool-${hash}` },
      ...{ annotations: { [revisionKey]: revision }, labels: { pool: "pool", "machine-template-hash": hash } },
      ...{ ownerReferences: [{ kind: "MachineDeployment", name: "pool", uid: "uid-of-pool" }] },
    },
  };
}

export interface MachineOverrides {
  hash?: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  metadata?: Record<string, unknown>;
  status?: Record<string, unknown>;
  finalizers?: string[];
}

/** A Machine that has joined; its node's name is "node-" and the name of the Machine. */
export function machine(name: string, overrides: MachineOverrides = {}): Stored {
  const { hash = "hash-1", annotations = {}, labels, metadata, status, finalizers = [instanceFinalizer] } = overrides;
  return {
    metadata: {
      ...{ namespace: "fleet", name, uid: `uid-of-${name}`, creationTimestamp: "2026-01-01T00:00:00.000Z" },
      ...{ annotations, labels: { pool: "pool", "machine-template-hash": hash, ...labels }, finalizers },
      ...{ ownerReferences: [{ kind: "MachineSet", name: `pool-${hash}`, uid: `uid-of-pool-${hash}` }] },
      ...metadata,
    },
    spec: { versions: { kubelet: "1.35.3" }, providerSpec: { value: providerConfig() } },
    status: status ?? {
      nodeRef: { name: `node-${name}` },
      addresses: [{ address: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

export interface NodeOverrides {
  ready?: boolean;
  /** False for a node that is cut off, so that its state is unknown. */
  heard?: boolean;
  since?: string;
  kubelet?: string;
  zone?: string;
  conditions?: Record<string, string>[];
}

/** A Node; by default Ready. */
export function node(name: string, overrides: NodeOverrides = {}): Stored {
  const { ready = true, heard = true, since, kubelet = "v1.35.3", zone, conditions = [] } = overrides;
  const status = !heard ? "Unknown" : ready ? "True" : "False";
  const condition = { type: "Ready", status, reason: heard ? "KubeletSays" : "NodeStatusUnknown" };
  const last = since ? { lastTransitionTime: since } : {};
  return {
    metadata: { name, ...(zone ? { labels: { "topology.kubernetes.io/zone": zone } } : {}) },
    status: {
      conditions: [{ ...condition, ...last, message: "reported by the kubelet" }, ...conditions],
      nodeInfo: { kubeletVersion: kubelet },
    },
  };
}

export interface PodOverrides {
  owner?: string;
  annotations?: Record<string, string>;
  phase?: string;
  metadata?: Record<string, unknown>;
  spec?: Record<string, unknown>;
}

/** A running Pod of a ReplicaSet on a node. */
export function pod(name: string, on: string, overrides: PodOverrides = {}): Stored {
  const { owner = "ReplicaSet", annotations = {}, phase = "Running", metadata, spec } = overrides;
  return {
    metadata: {
      ...{ namespace: "apps", name, uid: `uid-of-${name}`, annotations },
      ...{ ownerReferences: [{ kind: owner, name: "owner", uid: "u" }] },
      ...metadata,
    },
    spec: { nodeName: on, ...spec },
    status: { phase },
  };
}

const caPem = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUEXAMPLE\n-----END CERTIFICATE-----\n";

/** The cluster-info of the cluster. */
export function clusterInfo(server = "https://api.example:6443"): Stored {
  const ca = Buffer.from(caPem).toString("base64");
  const cluster = `{ name: "", cluster: { server: "${server}", certificate-authority-data: ${ca} } }`;
  return {
    metadata: { namespace: "kube-public", name: "cluster-info" },
    data: { kubeconfig: `apiVersion: v1\nkind: Config\nclusters: [${cluster}]\n` },
  };
}

/** Puts a MachineDeployment and its current MachineSet in place, and a MachineSet of an earlier template. */
export function putPool(kube: FakeKube, overrides: DeploymentOverrides = {}): void {
  kube.put("machinedeployments", machineDeployment(overrides));
  kube.put("machinesets", machineSet("0", "hash-0"));
  kube.put("machinesets", machineSet());
}
