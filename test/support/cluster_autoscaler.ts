/**
 * A cluster-autoscaler that does not know Ostler: its Deployment has a name of its own, and no AutoscalingStrategy
 * names it. It removes Ready nodes that have had no pod for a while, as the real one does after ten minutes, unless an
 * annotation of the node forbids that or its Deployment has no replicas.
 */
import type { GroupCloud, GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { FakeKube } from "./fake_kube.ts";
import { isReady, podsOn } from "./zonal_pods.ts";

export const scaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const lookEveryMs = 20;
/** Much longer than a machine takes to join, like the ten minutes of the real cluster-autoscaler. */
const unneededMs = 2_500;
const deployment = { namespace: "kube-system", name: "platform-autoscaler" };

export class ClusterAutoscaler implements Disposable {
  /** The nodes that it removed. */
  readonly removed: string[] = [];
  readonly #kube: FakeKube;
  readonly #cloud: GroupCloud;
  readonly #emptySince = new Map<string, number>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Creates the Deployment of the autoscaler, which acts only after it is started. */
  constructor(kube: FakeKube, cloud: GroupCloud, groups: readonly Pick<GroupSpec, "autoscalerName">[]) {
    this.#kube = kube;
    this.#cloud = cloud;
    const labels = { "app.kubernetes.io/name": "cluster-autoscaler" };
    const command = ["./cluster-autoscaler", "--cloud-provider=aws"];
    const containers = [{ name: "cluster-autoscaler", image: "images.example/cluster-autoscaler:v1.36.0", command }];
    kube.put("deployments", {
      metadata: { ...deployment, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
      status: { replicas: 1, readyReplicas: 1 },
    });
    this.#show(groups);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(Date.now()), lookEveryMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Number of replicas that its Deployment asks for. */
  get replicas(): number {
    const { namespace, name } = deployment;
    return (this.#kube.get("deployments", name, namespace)?.["spec"] as { replicas: number }).replicas;
  }

  #look(now: number): void {
    if (this.replicas === 0) return this.#emptySince.clear();
    for (const { node, providerId, group: id } of this.#cloud.instances().filter(({ state }) => state === "Ready")) {
      const group = this.#cloud.group(id);
      if (!group || group.size <= group.min || !this.#isUnneeded(node)) {
        this.#emptySince.delete(node);
        continue;
      }
      const since = this.#emptySince.get(node) ?? now;
      this.#emptySince.set(node, since);
      if (now - since < unneededMs) continue;
      this.removed.push(node);
      this.#taint(node);
      this.#cloud.remove(providerId, true);
    }
  }

  /** Taints a node before its machine is removed, as the real cluster-autoscaler does. */
  #taint(name: string): void {
    const node = this.#kube.get("nodes", name);
    const { taints = [], ...spec } = (node?.["spec"] ?? {}) as { taints?: object[] };
    const all = [...taints, { key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }];
    this.#kube.put("nodes", { ...node, metadata: { ...node?.metadata, name }, spec: { ...spec, taints: all } });
  }

  /** Writes the status ConfigMap of the autoscaler, which lists the groups that it manages. */
  #show(groups: readonly Pick<GroupSpec, "autoscalerName">[]): void {
    const names = groups.map(({ autoscalerName }) => `- name: ${autoscalerName}`);
    const updated = new Date().toISOString().replace("T", " ").replace("Z", " +0000 UTC");
    this.#kube.put("configmaps", {
      metadata: {
        ...{ namespace: "kube-system", name: "cluster-autoscaler-status" },
        annotations: { "cluster-autoscaler.kubernetes.io/last-updated": updated },
      },
      data: { status: ["autoscalerStatus: Running", "nodeGroups:", ...names].join("\n") },
    });
  }

  #isUnneeded(name: string): boolean {
    const node = this.#kube.get("nodes", name);
    if (!node || !isReady(node) || node.metadata.annotations?.[scaleDownDisabled] === "true") return false;
    return podsOn(this.#kube, name).length === 0;
  }
}
