import type { V1Node, V1NodeCondition } from "@kubernetes/client-node";
import type { Taint } from "./provisioning.ts";

/** The facts of a machine that its kubelet reports. */
export interface NodeFacts {
  name: string;
  providerId: string;
  address: string;
  /** Kubelet version with a leading "v". */
  kubelet: string;
  image: string;
  cpu: string;
  memory: string;
  /** Zone of the machine; undefined in a cloud without zones. */
  zone: string | undefined;
  taints: readonly Taint[];
}

/** Returns the Node that a kubelet registers, which is not Ready yet. */
export function nodeObject(facts: NodeFacts): V1Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: facts.name,
      labels: {
        ...{ "kubernetes.io/hostname": facts.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
        ...(facts.zone === undefined ? {} : { "topology.kubernetes.io/zone": facts.zone }),
      },
      // machine-controller crashes on a node without labels or annotations, because it writes into these maps without
      // creating them.
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: { providerID: facts.providerId, taints: facts.taints.map((taint) => ({ ...taint })) },
    status: { ...nodeStatus(facts), conditions: nodeConditions(false, [], new Date()) },
  };
}

/** Returns the status of a Node without its conditions. */
export function nodeStatus(facts: NodeFacts): NonNullable<V1Node["status"]> {
  const resources = { cpu: facts.cpu, memory: facts.memory, pods: "110" };
  return {
    addresses: [{ type: "InternalIP", address: facts.address }, { type: "Hostname", address: facts.name }],
    capacity: resources,
    allocatable: resources,
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      architecture: "amd64",
      bootID: crypto.randomUUID(),
      containerRuntimeVersion: "containerd://2.2.0",
      kernelVersion: "6.8.0-simulated",
      kubeletVersion: facts.kubelet,
      kubeProxyVersion: "",
      machineID: crypto.randomUUID().replaceAll("-", ""),
      operatingSystem: "linux",
      osImage: facts.image,
      systemUUID: crypto.randomUUID(),
    },
  };
}

const pressures = [
  { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory", message: "memory suffices" },
  { type: "DiskPressure", status: "False", reason: "KubeletHasNoDiskPressure", message: "disk space suffices" },
  { type: "PIDPressure", status: "False", reason: "KubeletHasSufficientPID", message: "process ids suffice" },
];
const readyCondition = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet posts ready status" };
const notReadyCondition = {
  type: "Ready",
  status: "False",
  reason: "KubeletNotReady",
  message: "container runtime is not up yet",
};

/** Returns the conditions of a node; a condition with an unchanged status keeps its transition time. */
export function nodeConditions(isReady: boolean, before: readonly V1NodeCondition[], now: Date): V1NodeCondition[] {
  const wanted = [...pressures, isReady ? readyCondition : notReadyCondition];
  return wanted.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const kept = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return { ...condition, lastHeartbeatTime: now, lastTransitionTime: kept ?? now };
  });
}
