/**
 * Simulates machine-controller for fake nodes: deletes a node with its Machine, and makes another Machine with a node.
 */
import { hold, machine, machineDeployment, machineSet } from "./machine_objects.ts";
import type { FakeNodes } from "./fake_nodes.ts";

export interface NodeMakerOptions {
  /** Milliseconds from the release of the Machine until its node is deleted. */
  goneMs?: number;
  /** Whether the new node has the name of the deleted one. */
  sameName?: boolean;
}

/** Makes a Machine of MachineDeployment fleet/pool for each fake node, and for each node that replaces one. */
export class NodeMaker {
  /** Deleted nodes, in order. */
  readonly gone: string[] = [];
  /** The pods left on a node when its Machine was deleted. */
  readonly podsLeft: string[] = [];
  readonly #nodes: FakeNodes;
  readonly #options: Required<NodeMakerOptions>;
  #made = 0;

  constructor(nodes: FakeNodes, { goneMs = 50, sameName = false }: NodeMakerOptions = {}) {
    this.#nodes = nodes;
    this.#options = { goneMs, sameName };
    const { kube } = nodes;
    kube.put("machinedeployments", machineDeployment());
    kube.put("machinesets", machineSet());
    for (const node of nodes.nodes.keys()) this.#make(node);
    const counted = kube.onChange;
    kube.onChange = (change) => {
      counted(change);
      if (change.plural === "machines") this.#control(change.object.metadata);
    };
  }

  /** Returns the Machines for which a deletion was requested, once per request. */
  get deleted(): string[] {
    return this.#nodes.kube.writes.filter((write) => write.startsWith("delete machines "))
      .map((write) => write.slice("delete machines fleet/".length));
  }

  machineOf(node: string): string | undefined {
    return this.#nodes.kube.all("machines").find(({ status }) => refOf(status) === node)?.metadata.name;
  }

  #make(node: string): void {
    const uid = this.#nodes.kube.get("nodes", node)?.metadata.uid;
    const status = { nodeRef: { name: node, uid }, conditions: [{ type: "Ready", status: "True" }] };
    this.#nodes.kube.put("machines", machine(`pool-hash-1-${++this.#made}`, { status }));
  }

  #control(
    { name, deletionTimestamp, annotations = {} }: {
      name: string;
      deletionTimestamp?: string;
      annotations?: Record<string, string>;
    },
  ): void {
    if (!deletionTimestamp || annotations[hold]) return;
    const node = refOf(this.#nodes.kube.get("machines", name, "fleet")?.["status"]);
    if (!node || this.gone.includes(node)) return;
    this.gone.push(node);
    const left = this.#nodes.kube.all("pods").filter(({ spec }) => (spec as { nodeName: string }).nodeName === node);
    this.podsLeft.push(...left.map(({ metadata }) => metadata.name));
    setTimeout(() => this.#replace(name, node), this.#options.goneMs);
  }

  #replace(name: string, node: string): void {
    const { kube, nodes } = this.#nodes;
    nodes.delete(node);
    kube.remove("nodes", node);
    kube.remove("machines", name, "fleet");
    const next = this.#options.sameName ? node : `${node}-next`;
    this.#nodes.addNode(next, {}, `uid-${this.#made}-of-${next}`);
    this.#make(next);
  }
}

function refOf(status: unknown): string | undefined {
  return (status as { nodeRef?: { name: string } } | undefined)?.nodeRef?.name;
}
