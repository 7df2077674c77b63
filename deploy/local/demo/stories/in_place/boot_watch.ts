import type { Cluster } from "../cluster.ts";

const everyMs = 500;

/** The fields of a Node that show when it boots and whether it is in service. */
export interface BootedNode {
  metadata: { name: string };
  spec: { unschedulable?: boolean };
  status: {
    nodeInfo: { bootID: string; osImage: string };
    conditions: { type: string; status: string }[];
  };
}

/** Reads the nodes twice a second, and counts their boots and the nodes out of service. */
export class BootWatch implements Disposable {
  readonly #cluster: Cluster;
  readonly #boots = new Map<string, Set<string>>();
  readonly #timer: ReturnType<typeof setInterval>;
  #mostOut = 0;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), everyMs);
  }

  /** Returns a watch that counts from now on. */
  static async start(cluster: Cluster): Promise<BootWatch> {
    const watch = new BootWatch(cluster);
    await watch.#look();
    return watch;
  }

  /** The number of boots since `start`, by the name of the node. */
  get boots(): ReadonlyMap<string, number> {
    return new Map([...this.#boots].map(([name, ids]) => [name, ids.size - 1]));
  }

  /** The maximum number of nodes that were cordoned or not Ready in one snapshot. */
  get mostOut(): number {
    return this.#mostOut;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const nodes = await this.#cluster.list<BootedNode>("/api/v1/nodes");
    this.#mostOut = Math.max(this.#mostOut, nodes.filter(isOut).length);
    for (const { metadata: { name }, status } of nodes) {
      this.#boots.set(name, (this.#boots.get(name) ?? new Set()).add(status.nodeInfo.bootID));
    }
  }
}

function isOut({ spec, status }: BootedNode): boolean {
  return spec.unschedulable === true ||
    !status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
