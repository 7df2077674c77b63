/**
 * A machine of kind `container`, from the creation of its VirtualMachine or instance to its removal; its behavior
 * depends on its user-data only.
 */
import type { V1Node } from "@kubernetes/client-node";
import { reasonOf } from "../cloud/kube.ts";
import type { CloudMachine, MachineContext, MachinePhase, MachineView } from "../cloud/machine_kind.ts";
import { type Patience, persist, rest } from "../cloud/patience.ts";
import type { MachineOrder } from "../cloud/virtual_machine.ts";
import { MachineContainer } from "./machine_container.ts";
import type { MetadataService } from "./metadata_service.ts";
import type { PolicyEnforcer } from "./policies/enforcer.ts";

/** Services and images that all container machines of a host share. */
export interface ContainerMeans extends PodServices {
  image: string;
  /**
   * Names of variants of the machine image, by the image that a machine's VirtualMachine or instance names; for any
   * other name, the machine boots `image`.
   */
  builds?: ReadonlyMap<string, string>;
  /** Name of the network in the engine. */
  network: string;
  labels: Record<string, string>;
  metadata: MetadataService;
  /** Disk space in bytes under /opt, where new machines install programs; by default that of the host. */
  diskBytes?: number | undefined;
}

const lookSeconds = 0.3;

/** One machine that boots a real system. */
export class ContainerMachine implements CloudMachine {
  readonly order: MachineOrder;
  readonly #context: MachineContext;
  readonly #means: ContainerMeans;
  readonly #life = new AbortController();
  readonly #signal: AbortSignal;
  #view: MachineView;
  #starting: Promise<MachineContainer> | undefined;

  constructor(context: MachineContext, order: MachineOrder, means: ContainerMeans) {
    this.order = order;
    this.#context = context;
    this.#means = means;
    this.#signal = AbortSignal.any([context.signal, this.#life.signal]);
    const { name, image } = order;
    this.#view = { name, image, phase: "waiting-for-instance", orderedAt: new Date().toISOString() };
  }

  /** Returns the container; rejects if it could not be started, or is not started yet. */
  container(): Promise<MachineContainer> {
    return this.#starting ??
      Promise.reject(new Error(`Failed to find machine "${this.order.name}": it is not started yet`));
  }

  view(): MachineView {
    return { ...this.#view };
  }

  async run(): Promise<void> {
    try {
      await this.#live();
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#view.failure = `${this.#view.phase}: ${reasonOf(error)}`;
      this.#log(`failed at ${this.#view.failure}`);
      this.#view.phase = "failed";
    }
  }

  async kill(): Promise<void> {
    if (this.#life.signal.aborted) return;
    this.#enter("dead");
    this.#life.abort();
    await (await this.container()).kill();
  }

  async partition(isCut: boolean): Promise<void> {
    await (await this.container()).partition(isCut);
    this.#log(isCut ? "cut off" : "reachable again");
  }

  async sicken(isIll: boolean): Promise<void> {
    await (await this.container()).run(["systemctl", isIll ? "stop" : "start", "containerd.service"]);
  }

  async remove(): Promise<void> {
    this.#life.abort();
    this.#enter("deleted");
    const { hypervisor, signal } = this.#context;
    const patience: Patience = { attempts: 50, seconds: 120, signal };
    this.#means.metadata.withdraw(this.order.name);
    await persist(patience, () => this.#scrap());
    await persist(patience, () => hypervisor.deleteInstance(this.order));
    const { nodeName } = this.#view;
    if (nodeName !== undefined) await persist(patience, () => hypervisor.deletePods(nodeName));
  }

  // Removes the container. If its start is still in progress, waits for the start first, because a container cannot be
  // removed before it exists.
  async #scrap(): Promise<void> {
    const container = await this.#starting?.catch(() => undefined);
    if (container === undefined) return;
    this.#means.policies?.detach(container);
    await container.remove();
  }

  async #live(): Promise<void> {
    const { hypervisor } = this.#context;
    await persist(this.#patience(), () => hypervisor.ensureInstance(this.order));
    const userData = await persist(this.#patience(), () => hypervisor.readUserData(this.order));
    // A machine that was removed during these calls must not be started, because nothing would remove its container.
    this.#signal.throwIfAborted();
    this.#enter("waiting-for-address");
    this.#starting = this.#switchOn(userData);
    const { address } = await this.#starting;
    this.#signal.throwIfAborted();
    this.#enter("booting");
    await persist(this.#patience(), () => hypervisor.ensureAddress(this.order, address));
    await this.#followNode();
  }

  #switchOn(userData: string): Promise<MachineContainer> {
    const { builds, network, labels, metadata, diskBytes } = this.#means;
    const { name, uid } = this.order;
    const image = builds?.get(this.order.image) ?? this.#means.image;
    const { promise: address, resolve } = Promise.withResolvers<string>();
    const bootArgument = metadata.offer(name, {
      ...{ instanceId: uid, hostname: name, userData, address },
      onFetched: () => this.#fetched(),
    });
    const disk = diskBytes === undefined ? {} : { diskBytes };
    return MachineContainer.start({ name, image, network, labels, bootArguments: [bootArgument], ...disk })
      .then((container) => {
        resolve(container.address);
        return container;
      });
  }

  #fetched(): void {
    this.#view.bootedAt ??= new Date().toISOString();
    if (this.#view.phase === "booting") this.#enter("installing");
  }

  // Follows the boot by reading the machine's Node only. There is no deadline, because Ostler itself gives up machines
  // that never join.
  async #followNode(): Promise<void> {
    let hasNetwork = false;
    for (; !this.#signal.aborted; await rest(lookSeconds, this.#signal)) {
      const node = await this.#context.hypervisor.readNode(this.order.name).catch(() => undefined);
      if (node === undefined) continue;
      this.#signal.throwIfAborted();
      this.#noteNode(node);
      hasNetwork ||= await persist(this.#patience(), () => this.#connect(node));
      if (this.#view.phase === "ready") return;
    }
  }

  async #connect(node: V1Node): Promise<boolean> {
    return await connectPods(await this.container(), node, this.#means);
  }

  #noteNode(node: V1Node): void {
    this.#view.nodeName ??= this.order.name;
    this.#view.kubelet = node.status?.nodeInfo?.kubeletVersion;
    const isReady = node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    const phase = isReady ? "ready" : "not-ready";
    if (this.#view.phase !== phase) this.#enter(phase);
    if (isReady) this.#view.readyAt ??= new Date().toISOString();
  }

  #patience(): Patience {
    const { bootAttempts, bootStepSeconds } = this.#context.script.current;
    return { attempts: bootAttempts, seconds: bootStepSeconds, signal: this.#signal };
  }

  // A boot step that was in progress when the machine was killed or removed can end later; it must not change the phase
  // any more.
  #enter(phase: MachinePhase): void {
    if (this.#life.signal.aborted && phase !== "deleted") return;
    this.#view.phase = phase;
    this.#log(phase);
  }

  #log(line: string): void {
    this.#context.log(`machine "${this.order.name}": ${line}`);
  }
}

// Sets up the pod network of a node, in place of a CNI agent and kube-proxy: one address range per node, and the API
// server's Service.

const path = "/etc/cni/net.d/10-ostler.conflist";

/** The address of the API server's Service: the first one in the Service range of the stack's API server. */
const apiService = { host: "10.96.0.1", port: 443 };

/** Address and port of a server. */
interface Endpoint {
  host: string;
  port: number;
}

/** Network services for the pods of a machine. */
interface PodServices {
  /** API server behind the Service `kubernetes`, which pods cannot reach by default. */
  apiServer?: Endpoint;
  /** Enforces NetworkPolicies, which have no effect by default. */
  policies?: PolicyEnforcer;
}

/**
 * Enforces the policies, exposes the API server, and writes the CNI config, without which a node is not Ready, and
 * returns true. If the node has no address range for pods yet, does nothing and returns false.
 */
async function connectPods(machine: MachineContainer, node: V1Node, services: PodServices): Promise<boolean> {
  const subnet = node.spec?.podCIDR;
  if (!subnet) return false;
  const { apiServer, policies } = services;
  await policies?.attach(machine, subnet);
  if (apiServer !== undefined) await serveApi(machine, apiServer);
  await machine.write(path, JSON.stringify(networkOf(subnet)));
  return true;
}

/** Makes the API server's Service reachable by a NAT rule, like kube-proxy; pods cannot reach other Services. */
async function serveApi(machine: MachineContainer, { host, port }: Endpoint): Promise<void> {
  const rule = ["-d", apiService.host, "-p", "tcp", "--dport", `${apiService.port}`, "-j", "DNAT"];
  const command = ["iptables", "-w", "-t", "nat", "-A", "PREROUTING", ...rule, "--to-destination", `${host}:${port}`];
  const { exitCode, stderr } = await machine.run(command);
  if (exitCode !== 0) {
    throw new Error(`Failed to expose the API server to pods at "${apiService.host}": ${stderr.trim()}`);
  }
}

function networkOf(subnet: string): object {
  const ipam = { type: "host-local", ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] };
  return {
    cniVersion: "1.0.0",
    name: "ostler",
    plugins: [
      { type: "ptp", ipMasq: true, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}
