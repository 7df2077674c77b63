/** Machines and a machine-controller (1.66) in virtual time, as far as a planner can see them. */
import type { Member, PoolSnapshot } from "../../../../../workflows/contracts/mod.ts";
import { machineController } from "../../../../../workflows/policy/supplier/machine_controller.ts";
import type { Batch } from "../../../../../workflows/policy/supplier/supplier.ts";
import type { Chance } from "./chance.ts";
import type { Clock } from "./clock.ts";

export interface SimMachine {
  id: string;
  hash: string;
  nth: number;
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
  /** Until machine-controller has seen a change. */
  reaction: [number, number];
  /** The nth machine never joins. */
  fails: (nth: number) => boolean;
  repairAfter: number;
  /** Held newcomers are chosen to go until they have passed, for the case that their template is left. */
  marksNewcomers: boolean;
}

export class Fleet {
  replicas: number;
  surge: number;
  template = "A";
  /** Machines of this template boot unasked; "" holds all. */
  converged = "A";
  machines = new Map<string, SimMachine>();
  /** Of each template how many there should be. */
  sets = new Map<string, number>();
  /** Machines that served and went though nobody had chosen them. */
  unchosen = 0;
  #made = 0;
  #isSeen = true;

  constructor(readonly clock: Clock, readonly chance: Chance, readonly options: FleetOptions) {
    this.replicas = options.replicas;
    this.surge = options.surge;
    this.sets.set("A", options.replicas);
    for (let nth = 0; nth < options.replicas; nth++) {
      Object.assign(this.#make("A"), { held: false, booted: true, ready: true, fails: false });
    }
  }

  /** Something changed: machine-controller will look. */
  touch(): void {
    if (!this.#isSeen) return;
    this.#isSeen = false;
    this.clock.after(this.chance(...this.options.reaction), () => {
      this.#isSeen = true;
      this.#reconcile();
    });
  }

  /** Scales, to old and new sets alike where machine-controller would. */
  scale(replicas: number): void {
    const more = replicas - this.replicas;
    this.replicas = replicas;
    const old = [...this.sets.keys()].find((hash) => hash !== this.template && (this.sets.get(hash) ?? 0) > 0);
    if (more > 0 && old !== undefined && this.chance(0, 1) === 1) this.sets.set(old, (this.sets.get(old) ?? 0) + more);
    this.touch();
  }

  change(template: string): void {
    this.template = template;
    if (!this.sets.has(template)) this.sets.set(template, 0);
    this.touch();
  }

  #make(hash: string): SimMachine {
    this.#made += 1;
    const { zones, marksNewcomers } = this.options;
    const held = hash !== this.converged;
    const machine: SimMachine = {
      ...{ id: `${hash}${this.#made}`, hash, nth: this.#made, zone: zones[this.#made % Math.max(1, zones.length)] },
      ...{ held, marked: held && marksNewcomers, booted: false, ready: false, ill: undefined },
      ...{ leaving: false, going: false, fails: this.options.fails(this.#made) },
    };
    this.machines.set(machine.id, machine);
    return machine;
  }

  #reconcile(): void {
    const before = JSON.stringify([...this.sets]);
    this.#roll();
    if (JSON.stringify([...this.sets]) !== before) this.touch();
    for (const [hash, size] of this.sets) this.#scaleSet(hash, size);
    for (const machine of [...this.machines.values()]) machine.leaving ? this.#leave(machine) : this.#boot(machine);
  }

  #roll(): void {
    const { replicas, surge, template, sets } = this;
    const batchOf = (hash: string): Batch => ({ size: sets.get(hash) ?? 0, ready: this.#ready(hash) });
    const old = [...sets.keys()].filter((hash) => hash !== template);
    const batches = { old: old.map(batchOf), target: batchOf(template) };
    const { makes, takes } = machineController.moveOf({ replicas, surge }, batches);
    sets.set(template, batches.target.size + makes);
    for (const [nth, hash] of old.entries()) sets.set(hash, (sets.get(hash) ?? 0) - (takes[nth] ?? 0));
  }

  #ready(hash: string): number {
    let count = 0;
    for (const each of this.machines.values()) {
      if (each.hash === hash && each.ready && !each.leaving && each.ill === undefined) count += 1;
    }
    return count;
  }

  #scaleSet(hash: string, size: number): void {
    const there = [...this.machines.values()].filter((each) => each.hash === hash && !each.leaving);
    for (let missing = size - there.length; missing > 0; missing--) this.#make(hash);
    for (let left = there.length; left > size; left--) {
      const marked = there.filter((each) => each.marked);
      const from = marked.length > 0 ? marked : there;
      const picked = from[this.chance(0, from.length - 1)];
      if (!picked) return;
      if (!picked.marked && picked.ready && picked.ill === undefined) this.unchosen += 1;
      picked.leaving = true;
      there.splice(there.indexOf(picked), 1);
    }
  }

  #boot(machine: SimMachine): void {
    if (machine.booted || machine.held) return;
    machine.booted = true;
    if (machine.fails) return;
    this.clock.after(this.chance(...this.options.join), () => {
      machine.ready = true;
      this.touch();
    });
  }

  #leave(machine: SimMachine): void {
    if (!machine.booted) this.machines.delete(machine.id);
    if (!machine.held && !machine.going) this.evict(machine);
  }

  /** Drains a machine by machine-controller's own rules, and removes it. */
  evict(machine: SimMachine): void {
    Object.assign(machine, { leaving: true, going: true });
    this.clock.after(this.chance(...this.options.leave), () => this.remove(machine));
  }

  remove(machine: SimMachine): void {
    this.machines.delete(machine.id);
    this.touch();
  }

  memberOf(machine: SimMachine): Member {
    const { id, hash, nth, zone, marked, held, ill, ready } = machine;
    const since = String(nth).padStart(9, "0");
    const due = ill === undefined ? undefined : ill + this.options.repairAfter;
    return {
      ...{ id, templateHash: hash, image: "i", kubelet: "k", phase: phaseOf(machine), since, marked, held },
      ...(ready ? { node: id } : {}),
      ...(ready && zone !== undefined ? { zone } : {}),
      ...(ill !== undefined && due !== undefined ? { ill: { why: "NotReady", since: ill, due } } : {}),
      expendable: false,
    };
  }
}

function phaseOf({ leaving, ready, booted, held, ill }: SimMachine): Member["phase"] {
  if (leaving) return "Leaving";
  if (ready) return ill === undefined ? "Ready" : "NotReady";
  if (booted) return "Booting";
  return held ? "Held" : "Provisioning";
}

/** The picture that a run would get, without the work of naming it. */
export function pictureOf(members: Member[], { template, unproven, limit }: Look): PoolSnapshot {
  const old: Member[] = [];
  const [waiting, joining, stale, leaving, ill]: Member[][] = [[], [], [], [], []];
  const counts = { machines: 0, updated: 0, ready: 0, updatedReady: 0, old: 0, held: 0, leaving: 0, ill: 0 };
  for (const member of members) {
    const { id, phase, held, marked } = member;
    counts.machines += 1;
    if (phase === "Leaving") {
      counts.leaving += 1;
      leaving?.push(member);
      continue;
    }
    const isProven = phase === "Ready" && !(id in unproven);
    const isUpdated = member.templateHash === template;
    if (isProven) counts.ready += 1;
    if (phase === "Held") counts.held += 1;
    if (member.ill) {
      counts.ill += 1;
      ill?.push(member);
    }
    if (!isUpdated) {
      counts.old += 1;
      old.push(member);
      continue;
    }
    counts.updated += 1;
    if (isProven) counts.updatedReady += 1;
    if (phase === "Held" && held) waiting?.push(member);
    if (phase === "Booting" || phase === "Provisioning") joining?.push(member);
    if (phase !== "Held" && (held || marked)) stale?.push(member);
  }
  old.sort(byTurn);
  const first = (group: Member[] = []): Member[] => group.slice(0, limit);
  const listed = { old: first(old), waiting: first(waiting), joining: first(joining), stale: first(stale) };
  return { fingerprint: "", counts, ...listed, leaving: first(leaving?.sort(byTurn)), ill: first(ill?.sort(byDue)) };
}

interface Look {
  template: string;
  unproven: Record<string, unknown>;
  limit: number;
}

function byTurn(a: Member, b: Member): number {
  return Number(b.marked) - Number(a.marked) || byDue(a, b) ||
    Number(a.phase === "Ready") - Number(b.phase === "Ready") || (a.since < b.since ? -1 : 1);
}

function byDue(a: Member, b: Member): number {
  const [one, other] = [a.ill?.due ?? Infinity, b.ill?.due ?? Infinity];
  return one === other ? 0 : one - other;
}
