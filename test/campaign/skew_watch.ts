/** Watches the versions of all nodes: no worker node may run a kubelet that is newer than an API server. */
import type { World } from "../integration/world.ts";

interface Node {
  metadata: { name: string; uid: string };
  status: { nodeInfo: { kubeletVersion: string } };
}

interface Pod {
  metadata: { name: string };
  spec: { nodeName?: string; containers: { image: string }[] };
}

const everyMs = 1_000;

/** Reads the versions of all nodes once a second until it is disposed of. */
export class SkewWatch implements AsyncDisposable {
  /** Messages about worker nodes with a kubelet newer than an API server or than the kubelet of a control plane. */
  readonly broken: string[] = [];
  /** The kubelet versions that each node has reported, by the uid of the node. */
  readonly seen = new Map<string, Set<string>>();
  looks = 0;
  readonly #world: World;
  readonly #isPlane: (node: string) => boolean;
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;

  /** `isPlane` returns whether a node is a control plane, also before it has joined completely. */
  constructor(world: World, isPlane: (node: string) => boolean) {
    this.#world = world;
    this.#isPlane = isPlane;
    this.#run = this.#watch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#run;
  }

  async #watch(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // A read fails while an API server restarts; the next read follows one second later.
      await this.#look().catch(() => undefined);
      await new Promise((done) => setTimeout(done, everyMs));
    }
  }

  async #look(): Promise<void> {
    const signal = AbortSignal.timeout(5_000);
    const { api } = this.#world;
    const read = async <T>(path: string): Promise<T[]> => {
      return (await api.call({ method: "GET", path, signal }) as { items: T[] }).items;
    };
    // Nodes are read before API servers, so that an upgrade between the two reads cannot make a worker look newer than
    // an API server.
    const nodes = await read<Node>("/api/v1/nodes");
    const pods = await read<Pod>("/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver");
    this.looks += 1;
    for (const { metadata: { uid }, status: { nodeInfo } } of nodes) {
      this.seen.set(uid, (this.seen.get(uid) ?? new Set()).add(nodeInfo.kubeletVersion));
    }
    const isPlane = ({ metadata: { name } }: Node): boolean => this.#isPlane(name);
    const planes = nodes.filter(isPlane).map(({ metadata: { name }, status }) => ({
      what: `the kubelet of control plane "${name}"`,
      version: status.nodeInfo.kubeletVersion,
    }));
    const servers = pods.filter(({ spec }) => nodes.some(({ metadata: { name } }) => name === spec.nodeName)).map((
      { metadata: { name }, spec: { containers: [server] } },
    ) => ({ what: `API server "${name}"`, version: server?.image.split(":").at(-1) ?? "" }));
    for (const { metadata: { name }, status } of nodes.filter((node) => !isPlane(node))) {
      const own = status.nodeInfo.kubeletVersion;
      for (const { what, version } of [...planes, ...servers]) {
        if (minorOf(own) > minorOf(version)) {
          this.broken.push(`worker "${name}" ran ${own} while ${what} ran ${version}`);
        }
      }
    }
  }
}

function minorOf(version: string): number {
  return Number(/^v1\.(\d+)\./.exec(version)?.[1] ?? Number.NaN);
}
