import { follow } from "./follow.ts";
import { Hypervisor, ordersPath } from "./hypervisor.ts";
import { type Connection, connectWith, reasonOf } from "./kube.ts";
import { simulatedMachines } from "./machine.ts";
import type { CloudMachine, MachineContext, MachineKind, MachineView } from "./machine_kind.ts";
import { persist, rest } from "./patience.ts";
import { Scheduler } from "./scheduler.ts";
import { Script, type ScriptChange } from "./script.ts";
import { readOrder, type VirtualMachine } from "./virtual_machine.ts";

/** How to start a cloud; machines get no API address from here, they must find it in their user-data. */
export interface CloudOptions {
  /** Text of a kubeconfig with the cloud's own identity. */
  kubeconfig: string;
  script?: ScriptChange;
  seed: number;
  /** What the machines are made of; simulated unless told. */
  kind?: MachineKind;
  log: (line: string) => void;
  /** Stops the cloud when it aborts. */
  signal?: AbortSignal;
}

/** A running cloud. */
export interface Cloud {
  /** All machines ever ordered from this cloud, deleted ones too, oldest first. */
  machines(): MachineView[];
  /** Changes how machines behave from now on. */
  script(change: ScriptChange): void;
  /** Stops a machine's heart; order, instance and Node stay. Throws when the name is unknown. */
  kill(name: string): Promise<void>;
  /** Cuts a machine off the API server, or heals it. Throws when the name is unknown. */
  partition(name: string, isCut: boolean): Promise<void>;
  /** Makes a machine's kubelet report NotReady, or Ready again. Throws when the name is unknown. */
  sicken(name: string, isIll: boolean): Promise<void>;
  /** Stops everything in this process; leaves the API server's objects as they are. */
  stop(): Promise<void>;
}

/** Starts a cloud that turns VirtualMachines into nodes; resolves once it watches, throws when it cannot list within a minute. */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const cloud = new LocalCloud(options);
  try {
    await cloud.start();
  } catch (error) {
    await cloud.stop();
    throw new Error(`Cannot start the cloud: ${reasonOf(error)}`);
  }
  return cloud;
}

/** Time for machine-controller to remove a Node with its Machine, as it mostly does. */
const orphanSeconds = 20;

class LocalCloud implements Cloud {
  readonly #connection: Connection;
  readonly #hypervisor: Hypervisor;
  readonly #stopping = new AbortController();
  readonly #context: MachineContext;
  readonly #kind: MachineKind;
  #machines: CloudMachine[] = [];
  #tasks = new Set<Promise<void>>();

  constructor(options: CloudOptions) {
    const { seed, log } = options;
    this.#connection = connectWith(options.kubeconfig);
    this.#hypervisor = new Hypervisor(this.#connection);
    this.#kind = options.kind ?? simulatedMachines;
    const script = new Script(options.script);
    this.#context = { hypervisor: this.#hypervisor, script, seed, log, signal: this.#stopping.signal };
    options.signal?.addEventListener("abort", () => void this.stop(), { once: true });
    if (options.signal?.aborted) this.#stopping.abort();
  }

  async start(): Promise<void> {
    const { log, signal } = this.#context;
    const patience = { attempts: 30, seconds: 60, signal };
    await persist(patience, () => this.#hypervisor.reserveAddresses());
    // A kind defined a moment ago answers late; asking first keeps the watch from starting broken.
    await persist(patience, () => this.#hypervisor.listOrders());
    const isGone = (nodeName: string): boolean => this.#isGone(nodeName);
    await new Scheduler({ connection: this.#connection, isGone, log, signal }).start();
    await follow<VirtualMachine>({
      connection: this.#connection,
      path: ordersPath,
      list: () => this.#hypervisor.listOrders(),
      changed: (machine) => this.#ordered(machine),
      gone: (machine) => this.#cancelled(machine.metadata?.uid),
      log,
      signal,
    });
  }

  machines(): MachineView[] {
    return this.#machines.map((machine) => machine.view());
  }

  script(change: ScriptChange): void {
    this.#context.script.change(change);
  }

  kill(name: string): Promise<void> {
    return this.#find(name, "kill").kill();
  }

  partition(name: string, isCut: boolean): Promise<void> {
    return this.#find(name, "partition").partition(isCut);
  }

  sicken(name: string, isIll: boolean): Promise<void> {
    return this.#find(name, "sicken").sicken(isIll);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#connection.close();
    await Promise.allSettled(this.#tasks);
  }

  #ordered(virtualMachine: VirtualMachine): void {
    const order = readOrder(virtualMachine);
    if (this.#machines.some((machine) => machine.order.uid === order.uid)) return;
    const namesake = this.#machines.find((each) => each.order.name === order.name && each.view().phase !== "deleted");
    // The watch may have missed that the order was replaced.
    const before = namesake === undefined ? Promise.resolve() : this.#cancelled(namesake.order.uid);
    const machine = this.#kind(this.#context, order, this.#machines.length + 1);
    this.#machines.push(machine);
    this.#track(before.then(() => machine.run()));
  }

  #cancelled(uid: string | undefined): Promise<void> {
    const machine = this.#machines.find(({ order }) => order.uid === uid);
    if (machine === undefined) return Promise.resolve();
    void this.#track(this.#removeOrphan(machine));
    return this.#track(machine.remove());
  }

  // A cloud-controller-manager's part: a Node that came just when its Machine went is one that machine-controller overlooks.
  async #removeOrphan({ order: { name } }: CloudMachine): Promise<void> {
    const { signal } = this.#context;
    await rest(orphanSeconds, signal);
    if (signal.aborted || this.#find(name, "look at").view().phase !== "deleted") return;
    await persist({ attempts: 30, seconds: 120, signal }, () => this.#hypervisor.deleteNode(name));
  }

  #isGone(nodeName: string): boolean {
    const machine = this.#machines.findLast((each) => each.view().nodeName === nodeName);
    return machine?.view().phase === "deleted";
  }

  #find(name: string, action: string): CloudMachine {
    const machine = this.#machines.findLast(({ order }) => order.name === name);
    if (machine === undefined) throw new Error(`Cannot ${action} machine "${name}": the cloud has no such machine`);
    return machine;
  }

  #track(work: Promise<void>): Promise<void> {
    const task: Promise<void> = work.catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#context.log(`cloud: ${reasonOf(error)}`);
    }).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
    return task;
  }
}
