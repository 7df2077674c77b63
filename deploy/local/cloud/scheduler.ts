import type { ListWatch, V1Node, V1Pod } from "@kubernetes/client-node";
import { follow } from "./follow.ts";
import { statusOf } from "../../../activities/kube/status.ts";
import { type Connection, reasonOf } from "./kube.ts";
import { rest, withinSeconds } from "./patience.ts";
import { kinOf, placePod } from "./placement.ts";

/** Dependencies of a scheduler. */
interface SchedulerOptions {
  connection: Connection;
  /** Returns whether the machine of a node was deleted; its Node may still be Ready. */
  isGone: (nodeName: string) => boolean;
  log: (line: string) => void;
  signal: AbortSignal;
}

/** A minimal scheduler, which binds each pending pod to the node that `placePod` chooses. */
export class Scheduler {
  readonly #connection: Connection;
  readonly #log: (line: string) => void;
  readonly #signal: AbortSignal;
  readonly #isGone: (nodeName: string) => boolean;
  #nodes: ListWatch<V1Node> | undefined;
  #pods: ListWatch<V1Pod> | undefined;
  /** Nodes of bound pods, by pod uid, kept until the pod is gone, because the watch reports a binding only later. */
  #bound = new Map<string, string>();
  #isRunning = false;
  #isDirty = false;

  constructor(options: SchedulerOptions) {
    this.#connection = options.connection;
    this.#isGone = options.isGone;
    this.#log = options.log;
    this.#signal = options.signal;
  }

  /** Schedules until the signal aborts. */
  async start(): Promise<void> {
    const { core } = this.#connection;
    const shared = { connection: this.#connection, log: this.#log, signal: this.#signal };
    const changed = (): void => void this.#schedule();
    this.#nodes = await follow<V1Node>({ ...shared, path: "/api/v1/nodes", list: () => core.listNode(), changed });
    this.#pods = await follow<V1Pod>({
      ...shared,
      path: "/api/v1/pods",
      list: () => core.listPodForAllNamespaces(),
      changed,
      gone: (pod) => this.#bound.delete(pod.metadata?.uid ?? ""),
    });
    await this.#schedule();
  }

  async #schedule(): Promise<void> {
    this.#isDirty = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#isDirty && !this.#signal.aborted) {
      this.#isDirty = false;
      if (!await this.#bindAll()) {
        await rest(1, this.#signal);
        this.#isDirty = true;
      }
    }
    this.#isRunning = false;
  }

  async #bindAll(): Promise<boolean> {
    const pods = this.#pods?.list() ?? [];
    const podsOn = this.#countPods(pods);
    const nodes = (this.#nodes?.list() ?? []).filter((node) => !this.#isGone(node.metadata?.name ?? ""));
    let isFine = true;
    for (const pod of pods.filter((each) => this.#isPending(each))) {
      const node = placePod(pod, nodes, { podsOn, kinOn: this.#countPods(kinOf(pod, pods)) });
      if (node === undefined) continue;
      if (await this.#bind(pod, node)) podsOn.set(node, (podsOn.get(node) ?? 0) + 1);
      else isFine = false;
    }
    return isFine;
  }

  #isPending(pod: V1Pod): boolean {
    const { deletionTimestamp, uid = "" } = pod.metadata ?? {};
    return !pod.spec?.nodeName && deletionTimestamp === undefined && !this.#bound.has(uid);
  }

  #countPods(pods: readonly V1Pod[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const pod of pods) {
      const node = pod.spec?.nodeName ?? this.#bound.get(pod.metadata?.uid ?? "");
      if (node) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
    return counts;
  }

  async #bind(pod: V1Pod, node: string): Promise<boolean> {
    const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
    const body = { metadata: { name, uid }, target: { apiVersion: "v1", kind: "Node", name: node } };
    try {
      await withinSeconds(10, this.#connection.core.createNamespacedPodBinding({ name, namespace, body }));
      this.#bound.set(uid, node);
      return true;
    } catch (error) {
      const isMoot = statusOf(error) === 404 || statusOf(error) === 409;
      if (!isMoot && !this.#signal.aborted) this.#log(`failed to bind pod "${namespace}/${name}": ${reasonOf(error)}`);
      return isMoot;
    }
  }
}
