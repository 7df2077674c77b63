/** Machines in virtual time, as far as a planner can see them; who owns them decides what happens by itself. */
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import type { Chance } from "./chance.ts";
import type { Clock } from "./clock.ts";

export interface SimMachine {
  id: string;
  hash: string;
  nth: number;
  /** As a member tells it; in the order in which machines were made. */
  since: string;
  zone: string | undefined;
  held: boolean;
  marked: boolean;
  booted: boolean;
  ready: boolean;
  ill: number | undefined;
  leaving: boolean;
  /** Its pods are being evicted, by whomever. */
  going: boolean;
  fails: boolean;
}

export interface FleetOptions {
  replicas: number;
  surge: number;
  zones: string[];
  /** Milliseconds from least to most. */
  join: [number, number];
  leave: [number, number];
  /** Until the owner has seen a change. */
  reaction: [number, number];
  /** The nth machine never joins. */
  fails: (nth: number) => boolean;
  repairAfter: number;
  /** Held newcomers are chosen to go until they have passed, for the case that their template is left. */
  marksNewcomers: boolean;
}

export abstract class Fleet {
  replicas: number;
  surge: number;
  template = "A";
  /** Machines of this template boot unasked; "" holds all. */
  converged = "A";
  machines = new Map<string, SimMachine>();
  /** Machines that served and went though nobody had chosen them. */
  unchosen = 0;
  /** Newcomers of a change that was left which served and went, as their mark was left on them. */
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

  /** What the owner does by itself when it looks. */
  protected abstract reconcile(): void;

  /** Another number of machines is wanted. */
  abstract scale(replicas: number): void;

  /** Another template is wanted. */
  abstract change(template: string): void;

  /** Something changed: the owner will look. */
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

  /** Drains a machine by the owner's own rules, and removes it. */
  evict(machine: SimMachine): void {
    Object.assign(machine, { leaving: true, going: true });
    this.clock.after(this.chance(...this.options.leave), () => this.remove(machine));
  }

  remove(machine: SimMachine): void {
    this.machines.delete(machine.id);
    this.touch();
  }

  /** Made field by field, as a simulation asks for some millions. */
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
