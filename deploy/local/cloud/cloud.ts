import { follow } from "./follow.ts";
import { Hypervisor, ordersPath } from "./hypervisor.ts";
import { type Connection, connectWith, reasonOf } from "./kube.ts";
import { simulatedMachines } from "./machine.ts";
import type { CloudMachine, MachineContext, MachineKind, MachineView } from "./machine_kind.ts";
import { persist, rest } from "./patience.ts";
import { Scheduler } from "./scheduler.ts";
import { Script, type ScriptChange } from "./script.ts";
import { readOrder, type VirtualMachine } from "./virtual_machine.ts";

/** Options of a simulated cloud; machines do not get the API server's address from here, but from their user-data. */
export interface CloudOptions {
  /** Text of a kubeconfig with the identity of the cloud. */
  kubeconfig: string;
  script?: ScriptChange;
  seed: number;
  /** Kind of the machines; simulated by default. */
  kind?: MachineKind;
  log: (line: string) => void;
  /** Stops the cloud when it aborts. */
  signal?: AbortSignal;
}

/** A running cloud. */
export interface Cloud {
  /** Returns a machine for each VirtualMachine created so far, including deleted ones, oldest first. */
  machines(): MachineView[];
  /** Changes the behavior of machines from now on. */
  script(change: ScriptChange): void;
  /** Stops a machine; its VirtualMachine, instance and Node remain. Throws if the name is unknown. */
  kill(name: string): Promise<void>;
  /** Cuts a machine off from the API server if `isCut`, else reconnects it. Throws if the name is unknown. */
  partition(name: string, isCut: boolean): Promise<void>;
  /** Makes a machine's kubelet report NotReady if `isIll`, else Ready. Throws if the name is unknown. */
  sicken(name: string, isIll: boolean): Promise<void>;
  /** Stops the activity of the cloud and its machines in this process; does not change objects of the API server. */
  stop(): Promise<void>;
}

/**
 * Starts a cloud that turns VirtualMachines into nodes; resolves when it watches them, and throws if it cannot list
 * them within a minute.
 */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const cloud = new LocalCloud(options);
  try {
    await cloud.start();
  } catch (error) {
    await cloud.stop();
    throw new Error(`Failed to start the simulated cloud: ${reasonOf(error)}`);
  }
  return cloud;
}

/**
 * Seconds that machine-controller has to delete the Node of a deleted Machine; afterwards the cloud deletes the Node.
 */
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
    // The API server serves a new CRD with a delay; listing first keeps the watch from failing at its start.
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
    // If the watch missed the deletion of an earlier VirtualMachine with the same name, the machine of that
    // VirtualMachine is removed first.
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

  // Deletes the Node like a cloud-controller-manager, because machine-controller misses a Node that was created while
  // its Machine was deleted.
  async #removeOrphan({ order: { name } }: CloudMachine): Promise<void> {
    const { signal } = this.#context;
    await rest(orphanSeconds, signal);
    if (signal.aborted || this.#find(name, "check").view().phase !== "deleted") return;
    await persist({ attempts: 30, seconds: 120, signal }, () => this.#hypervisor.deleteNode(name));
  }

  #isGone(nodeName: string): boolean {
    const machine = this.#machines.findLast((each) => each.view().nodeName === nodeName);
    return machine?.view().phase === "deleted";
  }

  #find(name: string, action: string): CloudMachine {
    const machine = this.#machines.findLast(({ order }) => order.name === name);
    if (machine === undefined) throw new Error(`Failed to ${action} machine "${name}": the cloud has no such machine`);
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
