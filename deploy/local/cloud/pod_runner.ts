import type { V1Pod } from "@kubernetes/client-node";
import { follow } from "./follow.ts";
import { deletePod } from "./hypervisor.ts";
import { type Connection, reasonOf, settled, strategicPatch } from "./kube.ts";
import type { Link } from "./link.ts";
import { Hopeless, persist, rest } from "./patience.ts";
import type { CloudScript } from "./script.ts";

/** The simulated machine whose pods a PodRunner runs. */
interface PodHost {
  connection: Connection;
  nodeName: string;
  address: string;
  ordinal: number;
  link: Link;
  script: () => CloudScript;
  log: (line: string) => void;
  signal: AbortSignal;
}

/**
 * Simulates how a kubelet runs pods: new pods are Running after a short time, deleted ones end after their grace
 * period.
 */
export class PodRunner {
  readonly #host: PodHost;
  #handled = new Map<string, "started" | "doubted" | "ending">();
  #addressesGiven = 0;

  constructor(host: PodHost) {
    this.#host = host;
  }

  /** Runs the pods of the node until the host's signal aborts. */
  async start(): Promise<void> {
    const { connection, nodeName, log, signal } = this.#host;
    const fieldSelector = `spec.nodeName=${nodeName}`;
    await follow<V1Pod>({
      connection,
      path: "/api/v1/pods",
      list: () => connection.core.listPodForAllNamespaces({ fieldSelector }),
      fieldSelector,
      changed: (pod) => this.#observe(pod),
      gone: (pod) => this.#handled.delete(pod.metadata?.uid ?? ""),
      log,
      signal,
    });
  }

  #observe(pod: V1Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const handled = this.#handled.get(uid);
    if (pod.metadata?.deletionTimestamp !== undefined) {
      if (handled === "ending") return;
      this.#handled.set(uid, "ending");
      void this.#act(pod, graceOf(pod, this.#host.script()), () => deletePod(this.#host.connection, pod));
    } else if (handled === undefined && isUnstarted(pod)) {
      this.#handled.set(uid, "started");
      void this.#act(pod, this.#host.script().podStartSeconds, () => this.#report(pod));
    } else if (handled !== "doubted" && isDoubted(pod)) {
      this.#handled.set(uid, "doubted");
      void this.#act(pod, 1, () => this.#reassure(pod)).then(() => this.#believe(uid));
    }
  }

  // Like a kubelet, waits while the machine is partitioned; gives up when updates of the pod have failed for ten
  // minutes.
  async #act(pod: V1Pod, afterSeconds: number, action: () => Promise<void>): Promise<void> {
    const { link, signal, log } = this.#host;
    await rest(afterSeconds, signal);
    while (!signal.aborted) {
      await link.whenUp(signal);
      try {
        return await persist({ attempts: 200, seconds: 600, signal }, () => this.#actOnline(action));
      } catch (error) {
        if (signal.aborted || !link.isUp) continue;
        this.#handled.delete(pod.metadata?.uid ?? "");
        return log(`failed to update pod "${pod.metadata?.namespace}/${pod.metadata?.name}": ${reasonOf(error)}`);
      }
    }
  }

  async #actOnline(action: () => Promise<void>): Promise<void> {
    if (!this.#host.link.isUp) throw new Hopeless("Failed to update a pod: the machine is partitioned");
    await action();
  }

  #believe(uid: string): void {
    if (this.#handled.get(uid) === "doubted") this.#handled.set(uid, "started");
  }

  async #report(pod: V1Pod): Promise<void> {
    const podIP = `10.244.${this.#host.ordinal % 256}.${1 + this.#addressesGiven++ % 250}`;
    await this.#patchStatus(pod, runningStatus(pod, podIP, this.#host.address));
  }

  async #reassure(pod: V1Pod): Promise<void> {
    await this.#patchStatus(pod, { conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date() }] });
  }

  async #patchStatus(pod: V1Pod, status: NonNullable<V1Pod["status"]>): Promise<void> {
    const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
    const body = { metadata: { uid }, status };
    // 404 and 409 count as success: the pod was deleted, or replaced by another pod with the same name.
    await settled(this.#host.connection.core.patchNamespacedPodStatus({ name, namespace, body }, strategicPatch), [
      404,
      409,
    ]);
  }
}

function isUnstarted(pod: V1Pod): boolean {
  return (pod.status?.phase ?? "Pending") === "Pending";
}

/**
 * Returns whether the node lifecycle controller marked a running pod as not ready while its kubelet was unreachable.
 */
function isDoubted(pod: V1Pod): boolean {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return pod.status?.phase === "Running" && ready?.status === "False";
}

function graceOf(pod: V1Pod, script: CloudScript): number {
  return Math.min(pod.metadata?.deletionGracePeriodSeconds ?? 30, script.maxPodGraceSeconds);
}

function runningStatus(pod: V1Pod, podIP: string, hostIP: string): NonNullable<V1Pod["status"]> {
  const now = new Date();
  const types = ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"];
  return {
    phase: "Running",
    podIP,
    podIPs: [{ ip: podIP }],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    startTime: now,
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: now })),
    containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = "" }) => ({
      name,
      image,
      imageID: image,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}
