/** Reads the pods of an installed Ostler as administrator. */
import type { ApiConnection } from "../stack/api_connection.ts";

export const namespace = "ostler-system";

const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const deploymentsPath = `/apis/apps/v1/namespaces/${namespace}/deployments`;
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

export interface Pod {
  name: string;
  process: string;
  version: string;
  node: string;
  /** Address of the pod; undefined until it has one. */
  address: string | undefined;
  isReady: boolean;
  /** Restart count of the pod's container. */
  restarts: number;
}

interface ApiPod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: {
    podIP?: string;
    conditions?: { type: string; status: string }[];
    containerStatuses?: { restartCount: number }[];
  };
}

export class OstlerPods {
  constructor(private readonly api: ApiConnection) {}

  /** Returns the pods that are not being deleted. */
  async all(): Promise<Pod[]> {
    const pods = await this.#list<ApiPod>(podsPath);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(podOf);
  }

  /** Returns the name of the controller pod that holds the lease; undefined if no existing pod holds it. */
  async leader(): Promise<string | undefined> {
    const leases = await this.#list<{ spec: { holderIdentity?: string } }>(leasesPath);
    const controllers = (await this.all()).filter(({ process }) => process === "controller");
    const isHeldBy = (name: string): boolean => leases.some(({ spec }) => spec.holderIdentity?.startsWith(`${name}-`));
    return controllers.find(({ name }) => isHeldBy(name))?.name;
  }

  /**
   * Returns whether the Deployments have all of their pods and all are Ready; reads the pods, because the status of a
   * Deployment can be older.
   */
  async isWhole(): Promise<boolean> {
    const deployments = await this.#list<{ spec: { replicas: number } }>(deploymentsPath);
    const wanted = deployments.reduce((sum, { spec }) => sum + spec.replicas, 0);
    const all = await this.all();
    return wanted > 0 && all.length === wanted && all.every(({ isReady }) => isReady);
  }

  /** Returns the names of the nodes that run Ostler's pods, each once, sorted. */
  async homes(): Promise<string[]> {
    return [...new Set((await this.all()).map(({ node }) => node))].sort();
  }

  /** Returns the name and restart count of each pod; two results are equal if no process ended in between. */
  async starts(): Promise<string[]> {
    return (await this.all()).map(({ name, restarts }) => `${name} ${restarts}`).sort();
  }

  async remove(name: string): Promise<void> {
    await this.api.call({ method: "DELETE", path: `${podsPath}/${name}` });
  }

  async #list<T>(path: string): Promise<T[]> {
    return (await this.api.call({ method: "GET", path }) as { items: T[] }).items;
  }
}

function podOf({ metadata: { name, labels }, spec, status }: ApiPod): Pod {
  return {
    name,
    process: labels["ostler.dev/process"] ?? "",
    version: labels["app.kubernetes.io/version"] ?? "",
    node: spec.nodeName ?? "",
    address: status.podIP,
    isReady: status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false,
    restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}
