/** Simulated machines of scaling groups, where each control plane has a real member of a real etcd. */
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { FleetWorld, GroupFleet } from "../../deploy/local/cloud/groups/group_fleet.ts";
import { GroupMachines } from "../../deploy/local/cloud/groups/group_machines.ts";
import { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { EtcdCluster, type EtcdPlace } from "../support/etcd_cluster.ts";

/** The simulated machines of all groups, and the etcd of the control planes. */
export class EtcdFleet implements GroupFleet {
  readonly #machines: GroupMachines;
  readonly #world: FleetWorld;
  readonly #supervisor: Supervisor;
  /**
   * Resolves when the latest join has ended: each join waits for the one before it, so members join one after the
   * other.
   */
  #joining: Promise<void> = Promise.resolve();
  #made = 0;
  /** First three numbers of the members' IP addresses: loopback addresses, chosen at random for each story. */
  readonly #net = `127.${randomInt(64, 128)}.${randomInt(1, 255)}`;
  /**
   * Functions that run while the next machine joins, each only once: `beforeAdded` before the member of the machine is
   * added to etcd, `onceAdded` when the member is a learner.
   */
  readonly befalls: { beforeAdded?: () => Promise<void>; onceAdded?: () => Promise<void> } = {};
  /** Errors that occurred while members joined or were deleted. */
  readonly troubles: unknown[] = [];

  private constructor(readonly etcd: EtcdCluster, world: FleetWorld, supervisor: Supervisor) {
    this.#world = world;
    this.#supervisor = supervisor;
    this.#machines = new GroupMachines({
      ...world,
      script: { podStartSeconds: 0.2, maxPodGraceSeconds: 1 },
      seconds: { boot: 1, ready: 0.5, gone: 1 },
      kubelet: "v1.36.1",
    });
  }

  /** Creates the keys of etcd before any machine exists, because Ostler's worker reads them from a Secret. */
  static async ground(): Promise<EtcdGround> {
    const directory = await mkdtemp(join(tmpdir(), "ostler-etcd-"));
    const supervisor = new Supervisor({ directory });
    const { etcd } = await resolveTools(["etcd"]);
    const cluster = await EtcdCluster.create({ directory: join(directory, "etcd"), etcd, supervisor });
    const fleets: EtcdFleet[] = [];
    return {
      cluster,
      get fleet(): EtcdFleet {
        const [fleet] = fleets;
        if (!fleet) throw new Error("Failed to find the machines: their world is not ready");
        return fleet;
      },
      open: (world) => {
        const fleet = new EtcdFleet(cluster, world, supervisor);
        fleets.push(fleet);
        return Promise.resolve(fleet);
      },
      async [Symbol.asyncDispose](): Promise<void> {
        await supervisor.stop();
        await rm(directory, { recursive: true, force: true });
      },
    };
  }

  changed(instance: CloudInstance, change: "Made" | "Going"): void {
    if (this.#world.cloud.group(instance.group)?.role === "ControlPlane") this.#changeMember(instance, change);
    this.#machines.changed(instance, change);
  }

  /** Simulates the loss of a machine and of the data of its etcd member; the cloud still reports the machine. */
  async lose({ providerId, node }: CloudInstance): Promise<void> {
    this.#machines.lose(providerId);
    await this.etcd.forget(node);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machines[Symbol.asyncDispose]();
    await this.#joining.catch(() => undefined);
    for (const process of this.#supervisor.processes) process.kill("SIGKILL");
  }

  #changeMember(instance: CloudInstance, change: "Made" | "Going"): void {
    const { node: name } = instance;
    if (change === "Going") return void this.etcd.forget(name).catch((error: unknown) => this.troubles.push(error));
    const address = `${this.#net}.${++this.#made}`;
    this.#world.cloud.set(instance.providerId, { addresses: [address] });
    const isFirst = this.#made === 1;
    this.#joining = this.#joining
      .then(() => isFirst ? this.etcd.start({ name, address }) : this.#join({ name, address }))
      .catch((error: unknown) => void this.troubles.push(error));
  }

  async #join(place: EtcdPlace): Promise<void> {
    const { beforeAdded, onceAdded } = this.befalls;
    delete this.befalls.beforeAdded;
    delete this.befalls.onceAdded;
    await beforeAdded?.();
    await this.etcd.join(place, onceAdded);
  }
}

/** An etcd without members; `open` creates the simulated machines, whose control planes become its members. */
export interface EtcdGround extends AsyncDisposable {
  readonly cluster: EtcdCluster;
  readonly fleet: EtcdFleet;
  open(world: FleetWorld): Promise<GroupFleet>;
}
