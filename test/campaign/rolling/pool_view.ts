/** A pool of real machines as seen in the API and at the engine. */
import { getContainerRuntimeClient } from "testcontainers";
import { NotYet } from "../../../deploy/local/process/wait_until.ts";
import { poolPath, type RolloutStatus } from "../../integration/pool_objects.ts";
import type { World } from "../../integration/world.ts";

export interface Machine {
  metadata: { name: string; annotations?: Record<string, string>; deletionTimestamp?: string };
}

export interface Node {
  metadata: { name: string };
  status: { nodeInfo: { kubeletVersion: string }; conditions: { type: string; status: string }[] };
}

const pool = "pool";
const patienceSeconds = 420;

/** The pool named "pool", the only pool of the test environment. */
export class PoolView {
  readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  machines(): Promise<Machine[]> {
    return this.world.list<Machine>("/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines");
  }

  async names(): Promise<string[]> {
    return (await this.machines()).map(({ metadata }) => metadata.name).sort();
  }

  /** Each node with its kubelet's version, as "name v1.36.1". */
  async versions(): Promise<string[]> {
    const nodes = await this.world.list<Node>("/api/v1/nodes");
    return nodes.map(({ metadata, status }) => `${metadata.name} ${status.nodeInfo.kubeletVersion}`).sort();
  }

  /** The cluster's state of a node: "True", "False", "Unknown", or "gone". */
  async readiness(name: string): Promise<string> {
    const node = await this.world.get<Node>(`/api/v1/nodes/${name}`);
    return node?.status.conditions.find(({ type }) => type === "Ready")?.status ?? "gone";
  }

  /**
   * Returns the status of the Rollout; undefined while the status is not yet about the newest generation of the pool.
   */
  async status(): Promise<RolloutStatus | undefined> {
    const status = await this.world.status(pool);
    const desired = await this.world.get<{ metadata: { generation: number } }>(poolPath(pool));
    return status?.observedGeneration === desired?.metadata.generation ? status : undefined;
  }

  /** Waits for a state of the rollout. */
  async until(what: string, isThere: (status: RolloutStatus) => boolean): Promise<RolloutStatus> {
    return await this.world.until(what, async () => {
      const status = await this.status();
      if (status !== undefined && isThere(status)) return status;
      throw new NotYet(status);
    }, patienceSeconds);
  }

  /**
   * Waits until this number of machines is updated and another machine is at the given step; returns that machine's
   * name.
   */
  async untilUnderway(step: "Joining" | "Draining", replaced: number): Promise<string> {
    const find = ({ underway = [] }: RolloutStatus): string | undefined =>
      underway.find((each) => each.step === step)?.machine;
    const isThere = (status: RolloutStatus): boolean =>
      Number.parseInt(status.updated ?? "0") >= replaced && find(status) !== undefined;
    return find(await this.until(`a machine ${step} after ${replaced} others`, isThere)) ?? "";
  }

  /** Which of these machines the engine still has, running or not. */
  async containersOf(names: readonly string[]): Promise<string[]> {
    const { container: { dockerode } } = await getContainerRuntimeClient();
    const containers = await dockerode.listContainers({ all: true });
    return names.filter((name) => containers.some(({ Names }) => Names.some((each) => each.endsWith(`-${name}`))));
  }
}
