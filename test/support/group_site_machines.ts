/** Machines of scaling groups that join a fake API server, like `GroupMachines` but without a network. */
import { setTimeout as pause } from "node:timers/promises";
import { nodeConditions, nodeObject } from "../../deploy/local/cloud/boot/node_object.ts";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { FleetWorld, GroupFleet } from "../../deploy/local/cloud/groups/group_fleet.ts";
import type { MachineIlls } from "../../deploy/local/cloud/groups/group_machines.ts";
import type { FakeKube } from "./fake_kube.ts";

/**
 * Milliseconds from an order until the kubelet registers, from then until the node is Ready, from a removal until the
 * instance is gone, and from then until its Node is deleted.
 */
const takes = { boot: 120, ready: 80, gone: 100, left: 300 };
const ticketMs = 60_000;
const kubelet = "v1.36.1";
const updates = { group: "update.edgeless.systems", version: "v1alpha1" } as const;

export class GroupSiteMachines implements GroupFleet {
  readonly #kube: FakeKube;
  readonly #world: FleetWorld;
  readonly #ills: MachineIlls;
  readonly #ended = new AbortController();
  readonly #lives = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(kube: FakeKube, world: FleetWorld, ills: MachineIlls) {
    this.#kube = kube;
    this.#world = world;
    this.#ills = ills;
  }

  changed(instance: CloudInstance, change: "Made" | "Going"): void {
    const task = (change === "Made" ? this.#live(instance) : this.#end(instance)).catch((error: unknown) => {
      if (!this.#ended.signal.aborted) this.#world.log(`machine "${instance.node}": ${String(error)}`);
    });
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    for (const life of this.#lives.values()) life.abort();
    await Promise.allSettled(this.#tasks);
  }

  async #live(instance: CloudInstance): Promise<void> {
    const { cloud } = this.#world;
    const life = new AbortController();
    this.#lives.set(instance.providerId, life);
    const { signal } = life;
    await pause(takes.boot / 2, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || this.#ills.isDead?.(instance)) return;
    cloud.set(instance.providerId, { state: "Ready" });
    await pause(takes.boot / 2, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await this.#join(instance, signal);
  }

  async #join(instance: CloudInstance, signal: AbortSignal): Promise<void> {
    const { node: name, addresses: [address = ""], providerId, zone, template: { fields: { image } } } = instance;
    const isControlPlane = this.#world.cloud.group(instance.group)?.role === "ControlPlane";
    if (!this.#ills.isSilent?.(instance)) await this.#announce(name, { isControlPlane, signal });
    if (signal.aborted) return;
    const facts = { name, providerId, address, kubelet, image, zone, cpu: "4", memory: "8Gi", taints: [] };
    const { metadata, spec, status } = nodeObject(facts);
    const role = isControlPlane ? { "node-role.kubernetes.io/control-plane": "" } : {};
    const labels = { ...metadata?.labels, ...role };
    const annotations = { ...metadata?.annotations };
    // The taint that the API server adds to each new Node, and that the node lifecycle controller removes.
    const taints = [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }];
    this.#kube.put("nodes", { metadata: { name, labels, annotations }, spec: { ...spec, taints }, status });
    await pause(takes.ready, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted && !this.#ills.isUnready?.(instance)) this.#setReady(name);
  }

  /**
   * Creates the JoiningNode of a node, with the reference of its components. The JoiningNodes of all control planes
   * have the same name, so that each is created only after the previous one was deleted (JN4).
   */
  async #announce(
    node: string,
    { isControlPlane, signal }: { isControlPlane: boolean; signal: AbortSignal },
  ): Promise<void> {
    const name = isControlPlane ? "control-plane" : node;
    const deadline = new Date(Date.now() + ticketMs).toISOString();
    while (!signal.aborted && this.#kube.get("joiningnodes", name)) {
      await pause(20, undefined, { signal }).catch(() => undefined);
    }
    const componentsreference = await this.#world.components();
    const spec = { name: node, componentsreference, iscontrolplane: isControlPlane, deadline };
    const body = { apiVersion: `${updates.group}/${updates.version}`, kind: "JoiningNode", metadata: { name }, spec };
    await this.#kube.client.custom.createClusterCustomObject({ ...updates, plural: "joiningnodes", body });
  }

  #setReady(name: string): void {
    const node = this.#kube.get("nodes", name);
    if (!node) return;
    const { taints = [], ...spec } = node["spec"] as { taints?: { key: string }[] };
    const left = taints.filter(({ key }) => key !== "node.kubernetes.io/not-ready");
    const status = { ...node["status"] as object, conditions: nodeConditions(true, [], new Date()) };
    this.#kube.put("nodes", { ...node, spec: { ...spec, ...(left.length > 0 ? { taints: left } : {}) }, status });
  }

  async #end({ providerId, node }: CloudInstance): Promise<void> {
    const { signal } = this.#ended;
    await pause(takes.gone, undefined, { signal });
    this.#lives.get(providerId)?.abort();
    this.#world.cloud.set(providerId, { state: "Terminated" });
    const pods = this.#kube.all("pods").filter(({ spec }) => (spec as { nodeName?: string }).nodeName === node);
    for (const { metadata: { name, namespace } } of pods) this.#kube.remove("pods", name, namespace);
    // A cloud-controller-manager deletes a Node that remains after its instance.
    await pause(takes.left, undefined, { signal });
    const left = this.#kube.get("nodes", node);
    if ((left?.["spec"] as { providerID?: string } | undefined)?.providerID === providerId) {
      this.#kube.remove("nodes", node);
    }
  }
}
