/** Simulated machines of scaling groups, which join a real API server, each with its own certificate. */
import { obtainNodeConfig } from "../boot/certificate.ts";
import { NodeAgent } from "../boot/node.ts";
import { Hypervisor } from "../hypervisor.ts";
import { asMergePatch } from "../../../../activities/kube/client.ts";
import { connect, type Connection, connectWith, reasonOf } from "../kube.ts";
import { Link } from "../link.ts";
import { type Patience, persist, rest } from "../patience.ts";
import { PodRunner } from "../pod_runner.ts";
import { Script, type ScriptChange } from "../script.ts";
import type { CloudInstance } from "./group_cloud.ts";
import type { FleetWorld, GroupFleet } from "./group_fleet.ts";
import { JoinService } from "./join_service.ts";
import { removeLeftNode } from "./left_node.ts";

/** Faults that the machines of some instances have. */
export interface MachineIlls {
  /** Whether the machine never boots: it reports nothing, and does not join. */
  isDead?: (instance: CloudInstance) => boolean;
  /** Whether the machine's node never becomes Ready. */
  isUnready?: (instance: CloudInstance) => boolean;
  /** Whether the machine joins without a JoiningNode, the record of the components that its node runs. */
  isSilent?: (instance: CloudInstance) => boolean;
}

export interface GroupMachinesOptions extends FleetWorld {
  script?: ScriptChange;
  /**
   * Seconds from the creation of an instance to the start of its kubelet, from then until its node is Ready, and from
   * the start of the deletion until the instance is gone.
   */
  seconds: { boot: number; ready: number; gone: number };
  kubelet: string;
  ills?: MachineIlls;
}

/** Milliseconds from the creation of a JoiningNode to its deadline, by which its node must have joined. */
const ticketMs = 60_000;

export class GroupMachines implements GroupFleet {
  readonly #options: GroupMachinesOptions;
  readonly #connection: Connection;
  readonly #hypervisor: Hypervisor;
  readonly #script: Script;
  readonly #ended = new AbortController();
  readonly #joinService: JoinService;
  readonly #lives = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: GroupMachinesOptions) {
    this.#options = options;
    this.#connection = connectWith(options.kubeconfig);
    this.#hypervisor = new Hypervisor(this.#connection);
    this.#script = new Script(options.script);
    const { signal } = this.#ended;
    this.#joinService = new JoinService({ connection: this.#connection, ticketMs, signal });
  }

  changed(instance: CloudInstance, change: "Made" | "Going"): void {
    const task = (change === "Made" ? this.#live(instance) : this.#end(instance)).catch((error: unknown) => {
      if (!this.#ended.signal.aborted) this.#options.log(`machine "${instance.node}": ${reasonOf(error)}`);
    });
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#tasks);
    await this.#connection.close();
  }

  async #live(instance: CloudInstance): Promise<void> {
    const { cloud, seconds, ills } = this.#options;
    const life = new AbortController();
    this.#lives.set(instance.providerId, life);
    const signal = AbortSignal.any([life.signal, this.#ended.signal]);
    await rest(seconds.boot / 2, signal);
    if (signal.aborted || ills?.isDead?.(instance)) return;
    cloud.set(instance.providerId, { state: "Ready" });
    await rest(seconds.boot / 2, signal);
    if (!signal.aborted) await this.#join(instance, signal);
  }

  async #join(instance: CloudInstance, signal: AbortSignal): Promise<void> {
    const { components, kubelet, log, seconds, ills } = this.#options;
    const { node: name, addresses: [address = ""], providerId, zone, template } = instance;
    const patience: Patience = { attempts: 50, seconds: 120, signal };
    const link = new Link();
    const isControlPlane = this.#options.cloud.group(instance.group)?.role === "ControlPlane";
    if (!ills?.isSilent?.(instance)) {
      const announce = isControlPlane ? "announceControlPlane" : "announce";
      await this.#joinService[announce](name, await components());
    }
    const ticket = await persist(patience, () => this.#joinService.ticket());
    const config = await obtainNodeConfig(this.#joinService.kubeconfigWith(ticket), name, { link, patience });
    const connection = connect(config);
    try {
      const hardware = { cpu: "4", memory: "8Gi", taints: [], image: template.fields.image };
      const agent = new NodeAgent(connection, { ...hardware, name, providerId, address, kubelet, zone }, link);
      await persist(patience, () => agent.register());
      if (isControlPlane) await persist(patience, () => this.#label(name));
      const script = () => this.#script.current;
      const host = { connection, nodeName: name, address, ordinal: 1, link, script, log, signal };
      await new PodRunner(host).start();
      await rest(seconds.ready, signal);
      if (signal.aborted || ills?.isUnready?.(instance)) return;
      await persist(patience, () => agent.setReady(true));
      await agent.keepAlive(() => this.#script.current.heartbeatSeconds, signal, log);
    } finally {
      await connection.close();
    }
  }

  /** Sets the role label as administrator, because a kubelet must not set the role of a control plane itself. */
  async #label(name: string): Promise<void> {
    const body = { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } };
    await this.#connection.core.patchNode({ name, body }, asMergePatch);
  }

  /** Makes a machine fail permanently, while its cloud still reports the instance as running. */
  lose(providerId: string): void {
    this.#lives.get(providerId)?.abort();
  }

  async #end(instance: CloudInstance): Promise<void> {
    const { cloud, seconds } = this.#options;
    const { providerId, node } = instance;
    const { signal } = this.#ended;
    await rest(seconds.gone, signal);
    this.#lives.get(providerId)?.abort();
    cloud.set(providerId, { state: "Terminated" });
    await persist({ attempts: 50, seconds: 60, signal }, () => this.#hypervisor.deletePods(node));
    await removeLeftNode(this.#connection, instance, signal);
  }
}
