/** Real machines of scaling groups: one container per instance, which is removed with the instance. */
import { randomUUID } from "node:crypto";
import type { CloudInstance } from "../../cloud/groups/group_cloud.ts";
import type { FleetWorld, GroupFleet } from "../../cloud/groups/group_fleet.ts";
import { JoinService } from "../../cloud/groups/join_service.ts";
import { removeLeftNode } from "../../cloud/groups/left_node.ts";
import { Hypervisor } from "../../cloud/hypervisor.ts";
import { type Connection, connectWith, reasonOf } from "../../cloud/kube.ts";
import type { CloudMachine, MachineContext } from "../../cloud/machine_kind.ts";
import { Script } from "../../cloud/script.ts";
import type { ContainerHost } from "../container_host.ts";
import { joinByTicket, type Joining, type OpenJoining } from "./joining.ts";

interface ContainerFleetOptions extends FleetWorld {
  host: Pick<ContainerHost, "kind" | "settings" | "poolAnnotations">;
  /** The kubelet version, without a leading "v", for each value of a NodeVersion's `kubernetesComponentsReference`. */
  kubelets: Readonly<Record<string, string>>;
  /** How machines become nodes; by default, their kubelets join with a bootstrap token (join ticket). */
  joining?: OpenJoining;
  /** Kubernetes group of the users that authenticate with join tickets; see `JoinOptions`. */
  bootstrappers?: string;
}

/** Milliseconds from the creation of a JoiningNode to its deadline, within which the machine boots and joins. */
const ticketMs = 600_000;
/** Limits of each boot step; long, because control planes wait for each other. */
const patience = { bootAttempts: 200, bootStepSeconds: 600 };

export class ContainerFleet implements GroupFleet {
  readonly #options: ContainerFleetOptions;
  readonly #connection: Connection;
  readonly #hypervisor: Hypervisor;
  readonly #ended = new AbortController();
  readonly #joinService: JoinService;
  readonly #machines = new Map<string, CloudMachine>();
  readonly #tasks = new Set<Promise<void>>();
  #joining: Joining | undefined;

  private constructor(options: ContainerFleetOptions) {
    this.#options = options;
    this.#connection = connectWith(options.kubeconfig);
    this.#hypervisor = new Hypervisor(this.#connection);
    const { bootstrappers } = options;
    const joins = { ticketMs, signal: this.#ended.signal, ...(bootstrappers === undefined ? {} : { bootstrappers }) };
    this.#joinService = new JoinService({ connection: this.#connection, ...joins });
  }

  /**
   * Opens a fleet. Renders in advance the files with which machines will boot, so that no machine has to wait for them.
   */
  static async open(options: ContainerFleetOptions): Promise<ContainerFleet> {
    const fleet = new ContainerFleet(options);
    const { host, kubelets, joining = joinByTicket } = options;
    try {
      fleet.#joining = await joining({ host, kubelets, joinService: fleet.#joinService });
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  changed(instance: CloudInstance, change: "Made" | "Going"): void {
    const task = (change === "Made" ? this.#live(instance) : this.#end(instance)).catch((error: unknown) => {
      if (!this.#ended.signal.aborted) this.#options.log(`machine "${instance.node}": ${reasonOf(error)}`);
    });
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  /** Stops the fleet without removing containers, which the host removes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#tasks);
    await this.#connection.close();
  }

  async #live(instance: CloudInstance): Promise<void> {
    const { host, cloud } = this.#options;
    const { node: name, providerId, template: { fields } } = instance;
    const order = { name, namespace: "", uid: randomUUID(), image: fields.image, userDataSecret: undefined };
    const size = { cpu: "1", memory: "1Gi", template: fields };
    const machine = host.kind(this.#contextOf(instance), { ...order, ...size }, this.#machines.size + 1);
    this.#machines.set(providerId, machine);
    await machine.run();
    const { phase, failure = "" } = machine.view();
    if (phase === "failed") cloud.set(providerId, { state: "Failed", trouble: failure });
  }

  async #end(instance: CloudInstance): Promise<void> {
    await this.#machines.get(instance.providerId)?.remove();
    await removeLeftNode(this.#connection, instance, this.#ended.signal);
  }

  /** Returns the context through which a machine calls its cloud. */
  #contextOf(instance: CloudInstance): MachineContext {
    const { cloud, log } = this.#options;
    // The components are read once, when the machine is created, so that every read of the user-data has the same
    // components.
    const components = this.#options.components();
    const { providerId } = instance;
    const hypervisor: MachineContext["hypervisor"] = {
      ensureInstance: () => Promise.resolve(cloud.set(providerId, { addresses: [] })),
      ensureAddress: (_, address = "") => {
        cloud.set(providerId, { state: "Ready", addresses: [address] });
        return Promise.resolve(address);
      },
      readUserData: () => this.#userDataOf(instance, components),
      readNode: (name) => this.#hypervisor.readNode(name),
      deleteInstance: () => Promise.resolve(cloud.set(providerId, { state: "Terminated" })),
      deletePods: (name) => this.#hypervisor.deletePods(name),
    };
    return { hypervisor, script: new Script(patience), seed: 0, log, signal: this.#ended.signal };
  }

  async #userDataOf(instance: CloudInstance, components: Promise<string>): Promise<string> {
    const joining = this.#joining;
    if (joining === undefined) {
      throw new Error(`Failed to boot machine "${instance.node}": the node files of its group are not rendered yet`);
    }
    return await joining.userData(instance, await components);
  }
}
