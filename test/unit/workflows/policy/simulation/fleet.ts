/** Machines in virtual time, as far as a planner sees them; subclasses implement the owner of the machines. */
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import type { Chance } from "./chance.ts";
import type { Clock } from "./clock.ts";

export interface SimMachine {
  id: string;
  hash: string;
  nth: number;
  /** The `since` of the member; sorts in the order of creation. */
  since: string;
  zone: string | undefined;
  held: boolean;
  marked: boolean;
  booted: boolean;
  ready: boolean;
  ill: number | undefined;
  leaving: boolean;
  /** The pods of the machine are being evicted, by the owner or by the run. */
  going: boolean;
  fails: boolean;
}

export interface FleetOptions {
  replicas: number;
  surge: number;
  zones: string[];
  /** Durations of a join (`join`) and of a removal (`leave`) in milliseconds: minimum and maximum. */
  join: [number, number];
  leave: [number, number];
  /** Milliseconds until the owner has observed a change: minimum and maximum. */
  reaction: [number, number];
  /** Returns whether the nth created machine never joins. */
  fails: (nth: number) => boolean;
  repairAfter: number;
  /**
   * Whether new machines that are held are marked for removal until the planner unmarks them, so that the owner removes
   * them first if their template is abandoned.
   */
  marksNewcomers: boolean;
}

export abstract class Fleet {
  replicas: number;
  surge: number;
  template = "A";
  /** Machines of this template boot without admission by Ostler; with "" every machine is held until it is admitted. */
  converged = "A";
  machines = new Map<string, SimMachine>();
  /** Number of machines that served and were removed without being chosen. */
  unchosen = 0;
  /** Number of new machines of an abandoned change that served and were removed because they still had their mark. */
  loose = 0;
  #made = 0;
  #isSeen = true;

  constructor(readonly clock: Clock, readonly chance: Chance, readonly options: FleetOptions) {
    this.replicas = options.replicas;
    this.surge = options.surge;
    for (let nth = 0; nth < options.replicas; nth++) {
      Object.assign(this.make("A"), { held: false, marked: false, booted: true, ready: true, fails: false });
    }
  }

  /** Runs one reconcile of the owner. */
  protected abstract reconcile(): void;

  /** Changes the number of replicas. */
  abstract scale(replicas: number): void;

  /** Changes the desired template. */
  abstract change(template: string): void;

  /** Schedules a reconcile of the owner after a change. */
  touch(): void {
    if (!this.#isSeen) return;
    this.#isSeen = false;
    this.clock.after(this.chance(...this.options.reaction), () => {
      this.#isSeen = true;
      this.reconcile();
    });
  }

  protected make(hash: string): SimMachine {
    this.#made += 1;
    const { zones, marksNewcomers } = this.options;
    const held = hash !== this.converged;
    const machine: SimMachine = {
      id: `${hash}${this.#made}`,
      hash,
      nth: this.#made,
      since: String(this.#made).padStart(9, "0"),
      zone: zones[this.#made % Math.max(1, zones.length)],
      held,
      marked: held && marksNewcomers,
      booted: false,
      ready: false,
      ill: undefined,
      leaving: false,
      going: false,
      fails: this.options.fails(this.#made),
    };
    this.machines.set(machine.id, machine);
    return machine;
  }

  protected boot(machine: SimMachine): void {
    if (machine.booted || machine.held) return;
    machine.booted = true;
    if (machine.fails) return;
    this.clock.after(this.chance(...this.options.join), () => {
      machine.ready = true;
      this.touch();
    });
  }

  protected leave(machine: SimMachine): void {
    if (!machine.booted) this.machines.delete(machine.id);
    if (!machine.held && !machine.going) this.evict(machine);
  }

  /** Drains a machine as the owner does, and removes it. */
  evict(machine: SimMachine): void {
    Object.assign(machine, { leaving: true, going: true });
    this.clock.after(this.chance(...this.options.leave), () => this.remove(machine));
  }

  remove(machine: SimMachine): void {
    this.machines.delete(machine.id);
    this.touch();
  }

  /** Returns the member; sets it field by field, because a simulation creates millions of members. */
  memberOf(machine: SimMachine): Member {
    const { id, hash, since, zone, marked, held, ill, ready } = machine;
    const phase = phaseOf(machine);
    const member: Member = {
      id,
      templateHash: hash,
      image: "i",
      kubelet: "k",
      phase,
      since,
      marked,
      held,
      expendable: false,
    };
    if (ready) member.node = id;
    if (ready && zone !== undefined) member.zone = zone;
    if (ill !== undefined) member.ill = { why: "NotReady", since: ill, due: ill + this.options.repairAfter };
    return member;
  }
}

function phaseOf({ leaving, ready, booted, held, ill }: SimMachine): Member["phase"] {
  if (leaving) return "Leaving";
  if (ready) return ill === undefined ? "Ready" : "NotReady";
  if (booted) return "Booting";
  return held ? "Held" : "Provisioning";
}
