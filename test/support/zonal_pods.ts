/**
 * Pods with zonal disks, and their scheduler: a pod can run only in the zone of its disk. An evicted pod is scheduled
 * again in that zone immediately, or stays Pending.
 */
import type { FakeKube, Stored } from "./fake_kube.ts";

const lookEveryMs = 10;
const namespace = "default";

/** A pod, and the zone of its disk. */
interface Home {
  name: string;
  zone: string;
}

export class ZonalPods implements Disposable {
  /** How often each pod could not be scheduled, because its zone had no node that takes pods. */
  readonly pending = new Map<string, number>();
  readonly #kube: FakeKube;
  readonly #homes: Home[];
  readonly #timer: ReturnType<typeof setInterval>;

  /** Creates one pod for each existing node. */
  constructor(kube: FakeKube) {
    this.#kube = kube;
    this.#homes = kube.all("nodes").map((node, nth) => ({ name: `db-${nth}`, zone: zoneOf(node) }));
    this.#schedule();
    this.pending.clear();
    this.#timer = setInterval(() => this.#schedule(), lookEveryMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Returns for each pod the zone in which it runs now, "" if it has no node, and the zone of its disk. */
  zones(): { has: string[]; disk: string[] } {
    const has = this.#homes.map(({ name }) => {
      const node = this.#kube.get("nodes", nodeOf(this.#kube.get("pods", name, namespace)) ?? "");
      return node ? zoneOf(node) : "";
    });
    return { has, disk: this.#homes.map(({ zone }) => zone) };
  }

  #schedule(): void {
    for (const { name, zone } of this.#homes) {
      if (this.#kube.get("pods", name, namespace)) continue;
      const [node] = this.#kube.all("nodes").filter((each) => zoneOf(each) === zone && canTake(each))
        .sort((a, b) => this.#podsOn(a) - this.#podsOn(b));
      if (!node) {
        this.pending.set(name, (this.pending.get(name) ?? 0) + 1);
        continue;
      }
      this.#kube.put("pods", {
        metadata: { name, namespace, uid: crypto.randomUUID() },
        spec: { nodeName: node.metadata.name, containers: [{ name: "db", image: "images.example/db:1" }] },
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      });
    }
  }

  #podsOn({ metadata: { name } }: Stored): number {
    return podsOn(this.#kube, name).length;
  }
}

/** Returns the pods that run on a node. */
export function podsOn(kube: FakeKube, node: string): Stored[] {
  return kube.all("pods").filter((pod) => nodeOf(pod) === node);
}

function nodeOf(pod: Stored | undefined): string | undefined {
  return (pod?.["spec"] as { nodeName?: string } | undefined)?.nodeName;
}

function zoneOf({ metadata: { labels = {} } }: Stored): string {
  return labels["topology.kubernetes.io/zone"] ?? "";
}

function canTake(node: Stored): boolean {
  const { unschedulable = false, taints = [] } = node["spec"] as {
    unschedulable?: boolean;
    taints?: { effect: string }[];
  };
  return !unschedulable && !taints.some(({ effect }) => effect === "NoSchedule" || effect === "NoExecute") &&
    isReady(node);
}

/** Returns whether a node is Ready. */
export function isReady(node: Stored): boolean {
  const { conditions = [] } = (node["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
