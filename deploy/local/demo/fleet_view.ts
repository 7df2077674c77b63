import type { Cloud } from "../cloud/cloud.ts";
import type { ApiConnection } from "../stack/api_connection.ts";
import type { MachineFacts, NodeFacts, Sighting } from "./machine_phase.ts";
import { pool } from "./pool_objects.ts";

interface ApiMachine {
  metadata: {
    name: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  spec: {
    versions?: { kubelet?: string };
    providerSpec?: {
      value?: { cloudProviderSpec?: { virtualMachine?: { template?: { primaryDisk?: { osImage?: string } } } } };
    };
  };
}

interface ApiNode {
  metadata: { name: string };
  spec?: { unschedulable?: boolean };
  status?: { conditions?: { type: string; status: string }[] };
}

const machinesPath = `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machines`;

/** Looks at every machine once, oldest first. */
export async function viewFleet(api: ApiConnection, cloud: Cloud): Promise<Sighting[]> {
  const [machines, nodes] = await Promise.all([
    list<ApiMachine>(api, machinesPath),
    list<ApiNode>(api, "/api/v1/nodes"),
  ]);
  const nodeOf = new Map(nodes.map((node) => [node.metadata.name, nodeFacts(node)]));
  const bootOf = new Map(cloud.machines().map(({ name, phase }) => [name, phase]));
  const byAge = machines.sort((a, b) => order(a).localeCompare(order(b)));
  return byAge.map((machine) => {
    const { name } = machine.metadata;
    return { machine: machineFacts(machine), node: nodeOf.get(name), boot: bootOf.get(name) };
  });
}

async function list<T>(api: ApiConnection, path: string): Promise<T[]> {
  const { items } = await api.call({ method: "GET", path }) as { items: T[] };
  return items;
}

function order({ metadata }: ApiMachine): string {
  return `${metadata.creationTimestamp} ${metadata.name}`;
}

function machineFacts({ metadata, spec }: ApiMachine): MachineFacts {
  const template = spec.providerSpec?.value?.cloudProviderSpec?.virtualMachine?.template;
  return {
    name: metadata.name,
    image: template?.primaryDisk?.osImage ?? "",
    kubelet: (spec.versions?.kubelet ?? "").replace(/^v/, ""),
    isHeld: Boolean(metadata.annotations?.["machine-controller.kubermatic.io/initializers"]),
    isLeaving: metadata.deletionTimestamp !== undefined,
    hasInstance: metadata.finalizers?.includes("machine-delete-finalizer") ?? false,
  };
}

function nodeFacts({ spec, status }: ApiNode): NodeFacts {
  const isReady = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  return { isReady: isReady ?? false, isCordoned: spec?.unschedulable ?? false };
}
