/** A machine of the kind `container`, from order to death: whatever it does on the way it does by its user-data alone. */
import type { V1Node } from "@kubernetes/client-node";
import { reasonOf } from "../cloud/kube.ts";
import type { CloudMachine, MachineContext, MachinePhase, MachineView } from "../cloud/machine_kind.ts";
import { type Patience, persist, rest } from "../cloud/patience.ts";
import type { MachineOrder } from "../cloud/virtual_machine.ts";
import { MachineContainer } from "./machine_container.ts";
import type { MetadataService } from "./metadata_service.ts";
import type { PolicyEnforcer } from "./policies/enforcer.ts";

/** What all container machines of a site share. */
export interface ContainerMeans extends PodServices {
  image: string;
  /** Other builds of it, by the image that is ordered. */
  builds?: ReadonlyMap<string, string>;
  /** Name of the engine's network. */
  network: string;
  labels: Record<string, string>;
  metadata: MetadataService;
  /** Space for programs on the machines ordered from now on, in bytes; the host's unless told. */
  diskBytes?: number | undefined;
}

const lookSeconds = 0.3;

/** One machine that really boots. */
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

  /** The container; rejects when it could not be started, or is not yet. */
  container(): Promise<MachineContainer> {
    return this.#starting ?? Promise.reject(new Error(`Cannot reach machine "${this.order.name}": it is not on yet`));
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

  // A container that is just being started has to be there before it can be removed.
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
    // Removed meanwhile, it must not be switched on: nobody would remove it again.
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

  // What the cluster says of it is all that can be seen from outside; a machine that never joins is Ostler's to judge.
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

  #enter(phase: MachinePhase): void {
    this.#view.phase = phase;
    this.#log(phase);
  }

  #log(line: string): void {
    this.#context.log(`machine "${this.order.name}": ${line}`);
  }
}

// The pod network of a node, as its agents would set it up: one range of addresses a node, routed by the host, and the API.

const path = "/etc/cni/net.d/10-ostler.conflist";

/** The address that every cluster with this range of Services gives to the one of its API server. */
const apiService = { host: "10.96.0.1", port: 443 };

/** Where a server listens. */
interface Endpoint {
  host: string;
  port: number;
}

/** What pods of a machine have beside addresses. */
interface PodServices {
  /** Reached by them as the Service `kubernetes`; by none unless told. */
  apiServer?: Endpoint;
  /** What makes NetworkPolicies hold; unless told nothing does. */
  policies?: PolicyEnforcer;
}

/** Writes the CNI config once the node has its range; returns whether it did. Until then the node is not Ready. */
async function connectPods(machine: MachineContainer, node: V1Node, services: PodServices): Promise<boolean> {
  const subnet = node.spec?.podCIDR;
  if (!subnet) return false;
  const { apiServer, policies } = services;
  await policies?.attach(machine, subnet);
  if (apiServer !== undefined) await serveApi(machine, apiServer);
  await machine.write(path, JSON.stringify(networkOf(subnet)));
  return true;
}

/** Of all Services this is the only one that pods reach here: as kube-proxy does it, by a rule for what they send. */
async function serveApi(machine: MachineContainer, { host, port }: Endpoint): Promise<void> {
  const rule = ["-d", apiService.host, "-p", "tcp", "--dport", `${apiService.port}`, "-j", "DNAT"];
  const command = ["iptables", "-w", "-t", "nat", "-A", "PREROUTING", ...rule, "--to-destination", `${host}:${port}`];
  const { exitCode, stderr } = await machine.run(command);
  if (exitCode !== 0) throw new Error(`Cannot serve the API to pods at "${apiService.host}": ${stderr.trim()}`);
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
