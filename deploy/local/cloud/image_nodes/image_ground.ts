/**
 * Simulated nodes that are updated in place: Node objects with simulated kubelets. The only pods that run on them are
 * hands, the pods with which Ostler changes the operating system of a node.
 */
import { setTimeout as pause } from "node:timers/promises";
import { ApiConnection } from "../../stack/api_connection.ts";
import { type Fate, ImageNode } from "./image_node.ts";

interface ImageGroundOptions {
  nodes: number;
  labels: Record<string, string>;
  /** Digest of the image that the nodes run at first. */
  booted: string;
  fate?: (node: string, digest: string) => Fate;
  /** Duration of a boot in milliseconds. */
  bootMs?: number;
}

const pods = "/api/v1/namespaces/ostler-hands/pods";
const lookEveryMs = 250;
/**
 * Milliseconds between two heartbeats of a node: half of kube-controller-manager's grace period of 20 s, after which a
 * silent node is not Ready.
 */
const beatEveryMs = 10_000;

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  spec: { nodeName?: string; containers: { name: string; args?: string[] }[] };
  status?: { phase?: string; containerStatuses?: unknown[] };
}

/**
 * The image of hands, the pods with which Ostler changes a node's operating system. These pods are only simulated, so
 * no registry has the image.
 */
export const simulatedHands = `hands.example/ostler@sha256:${"0".repeat(64)}`;

export class ImageGround implements AsyncDisposable {
  readonly nodes = new Map<string, ImageNode>();
  fate: (node: string, digest: string) => Fate;
  /**
   * Called with the verb (such as Stage or Apply) and the node of each order to a node's operating system, before the
   * node executes the order.
   */
  onOrder: (verb: string, node: string) => void = () => {};
  /** Maximum number of nodes that were down at once. */
  mostDown = 0;
  readonly #options: ImageGroundOptions;
  readonly #stop = new AbortController();
  #played: Promise<void> = Promise.resolve();
  #api: ApiConnection | undefined;

  constructor(options: ImageGroundOptions) {
    this.#options = options;
    this.fate = options.fate ?? (() => "boots");
  }

  /** Environment variables that Ostler's worker needs to update these nodes; the image in them is never pulled. */
  get settings(): Record<string, string> {
    return { OSTLER_HANDS_IMAGE: simulatedHands };
  }

  /** Creates the nodes, and runs their kubelets until this object is disposed of. */
  async settle(adminKubeconfig: string): Promise<void> {
    const api = this.#api = await ApiConnection.open(adminKubeconfig);
    const { nodes, labels, booted } = this.#options;
    // The taint keeps other pods off these nodes, because no real kubelet would run them.
    const spec = { taints: [{ key: "example.com/images", effect: "NoSchedule" }] };
    for (let nth = 1; nth <= nodes; nth++) {
      const node = new ImageNode(`image-${String(nth).padStart(2, "0")}`, booted);
      this.nodes.set(node.name, node);
      await api.call({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name: node.name, labels }, spec } });
      await this.#report(api, node);
    }
    this.#played = this.#play(api);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#played;
    this.#api?.[Symbol.dispose]();
  }

  async #play(api: ApiConnection): Promise<void> {
    const { signal } = this.#stop;
    for (let beaten = Date.now(); !signal.aborted;) {
      if (Date.now() - beaten > beatEveryMs) {
        beaten = Date.now();
        const up = [...this.nodes.values()].filter(({ isDown }) => !isDown);
        // A failed heartbeat needs no retry, because the next one follows soon.
        await Promise.all(up.map((node) => this.#report(api, node).catch(() => undefined)));
      }
      const found = await podsOf(api).catch(() => []); // the API server may restart; the next loop retries
      await Promise.all(found.map((pod) => this.#run(api, pod).catch(() => undefined))); // the next loop retries
      await pause(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Deletes terminating pods and runs new pods like a kubelet; does nothing while the node is down. */
  async #run(api: ApiConnection, { metadata, spec, status }: Pod): Promise<void> {
    const node = this.nodes.get(spec.nodeName ?? "");
    if (!node || node.isDown) return;
    const path = `${pods}/${metadata.name}`;
    if (metadata.deletionTimestamp) {
      return void await api.call({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
    }
    if (status?.phase !== "Pending" || (status.containerStatuses ?? []).length > 0) return;
    const [, verb = "", , digest = "", bootId = ""] = spec.containers[0]?.args ?? [];
    const { state } = node;
    this.onOrder(verb, node.name);
    const bootOf = node.take({ verb, digest, bootId });
    const message = JSON.stringify({ outcome: "Done", reason: "", message: "", ...state, findings: [] });
    const terminated = { exitCode: 0, reason: "Completed", message };
    const container = { name: spec.containers[0]?.name ?? "", ready: false, restartCount: 0, image: "", imageID: "" };
    await patchStatus(api, path, {
      phase: "Succeeded",
      containerStatuses: [{ ...container, state: { terminated } }],
    });
    // `#boot` rejects when the demo or the test ends, because the end aborts its pauses.
    if (bootOf === "Boots") void this.#boot(api, node).catch(() => undefined);
  }

  async #boot(api: ApiConnection, node: ImageNode): Promise<void> {
    const { signal } = this.#stop;
    const fate = this.fate(node.name, node.state.staged);
    await pause(500, undefined, { signal });
    node.goDown();
    this.mostDown = Math.max(this.mostDown, [...this.nodes.values()].filter(({ isDown }) => isDown).length);
    await this.#report(api, node);
    if (fate === "never comes back") return;
    await pause(this.#options.bootMs ?? 1_000, undefined, { signal });
    node.comeUp(fate);
    await this.#report(api, node);
  }

  async #report(api: ApiConnection, { name, isDown, since, machineId, state: { bootId } }: ImageNode): Promise<void> {
    const status = isDown ? "Unknown" : "True";
    const reason = isDown ? "NodeStatusUnknown" : "KubeletReady";
    const times = { lastTransitionTime: since, lastHeartbeatTime: new Date().toISOString() };
    await patchStatus(api, `/api/v1/nodes/${name}`, {
      conditions: [{ type: "Ready", status, reason, message: "", ...times }],
      nodeInfo: { ...nodeInfo, machineID: machineId, bootID: bootId },
    });
  }
}

const nodeInfo = {
  ...{ systemUUID: "", kernelVersion: "", osImage: "", containerRuntimeVersion: "" },
  ...{ kubeletVersion: "v1.36.1", kubeProxyVersion: "", operatingSystem: "linux", architecture: "amd64" },
};

async function podsOf(api: ApiConnection): Promise<Pod[]> {
  return (await api.call({ method: "GET", path: pods }) as { items: Pod[] }).items;
}

async function patchStatus(api: ApiConnection, path: string, status: object): Promise<void> {
  const contentType = "application/merge-patch+json";
  await api.call({ method: "PATCH", path: `${path}/status`, body: { status }, contentType });
}
