/** The pods of an installed Ostler, as an administrator sees them. */
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
  /** Undefined until it has one. */
  address: string | undefined;
  isReady: boolean;
  /** How often its process was started anew within it. */
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

  /** Those that nobody has begun to delete. */
  async all(): Promise<Pod[]> {
    const pods = await this.#list<ApiPod>(podsPath);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(podOf);
  }

  /** The name of the controller's pod that holds the lease; undefined while none of those that stand does. */
  async leader(): Promise<string | undefined> {
    const leases = await this.#list<{ spec: { holderIdentity?: string } }>(leasesPath);
    const controllers = (await this.all()).filter(({ process }) => process === "controller");
    const isHeldBy = (name: string): boolean => leases.some(({ spec }) => spec.holderIdentity?.startsWith(`${name}-`));
    return controllers.find(({ name }) => isHeldBy(name))?.name;
  }

  /** Whether there are as many as are wanted, all of them Ready. Of Deployments a status may be of a moment before. */
  async isWhole(): Promise<boolean> {
    const deployments = await this.#list<{ spec: { replicas: number } }>(deploymentsPath);
    const wanted = deployments.reduce((sum, { spec }) => sum + spec.replicas, 0);
    const all = await this.all();
    return wanted > 0 && all.length === wanted && all.every(({ isReady }) => isReady);
  }

  /** The nodes that they are on. */
  async homes(): Promise<string[]> {
    return [...new Set((await this.all()).map(({ node }) => node))].sort();
  }

  /** Each of them, and how often its process was started anew: the same again where no process has ended. */
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
