/** A run in virtual time: begins the steps of the planner, and keeps the state of a workflow. */
import type { Boot, Desired, Member, Rules, WaveCount, WaveState } from "../../../../../workflows/contracts/mod.ts";
import { type Blocked, machinesOf, type Situation, type Step } from "../../../../../workflows/policy/turn.ts";
import { planTurn } from "../../../../../workflows/policy/plan_turn.ts";
import type { Supplier } from "../../../../../workflows/policy/supplier.ts";
import type { Fleet, SimMachine } from "./fleet.ts";
import { pictureOf } from "./seen.ts";

export interface RunOptions {
  supplier: Supplier;
  rules: Rules;
  usual: number | null;
  /** Duration of a gate evaluation in milliseconds: minimum and maximum. */
  gates: [number, number];
  /** Machines whose pods cannot be evicted. */
  undrainable: string[];
  /** Returns whether the nth created machine fails its gates after it has joined. */
  gateFails: (nth: number) => boolean;
  /** Milliseconds that a write takes: minimum and maximum. */
  write: [number, number];
}

/** Observes a run: `begins` is called before each step begins, and `after` when all steps of a reconcile have begun. */
export interface Watch {
  begins(step: Step, situation: Situation): void;
  after(): void;
}

const joinDeadline = 900_000;
const attempts = 2;
const profile = { name: "p", namespace: "n" };

export class Run {
  booting: Record<string, Boot> = {};
  joining = new Set<string>();
  leaving = new Set<string>();
  repairing = new Set<string>();
  victims = new Map<string, string>();
  wave: WaveState = freshWave();
  countedBy: WaveCount | undefined;
  rolled = false;
  retries: number[] = [];
  skipped: string[] = [];
  setAside: string[] = [];
  failed: string[] = [];
  paused = false;
  quarantined = false;
  rollingBack = false;
  approved = false;
  blocked: Blocked | null = null;
  converged = false;
  turns = 0;
  watch: Watch = { begins: () => {}, after: () => {} };
  #gatesAsked = false;
  #wakeAt = Infinity;
  /** Number of restarts and template changes; a task that was scheduled before the latest of them does nothing. */
  #life = 0;
  readonly #judged = new Set<string>();

  constructor(readonly fleet: Fleet, readonly options: RunOptions) {}

  situation(): Situation {
    const { fleet, options, booting, wave, retries, skipped, setAside } = this;
    const { paused, quarantined, rollingBack, approved } = this;
    const limit = Math.max(20, 2 * machinesOf(options.rules.budget.machines, fleet.replicas));
    const members = [...fleet.machines.values()].map((machine) => fleet.memberOf(machine));
    const pool = pictureOf(members, { template: fleet.template, unproven: booting, limit });
    this.rolled ||= pool.counts.old > 0;
    const busy = {
      joining: [...this.joining, ...this.failed],
      leaving: [...this.leaving],
      repairing: [...this.repairing],
      victims: [...this.victims.values()],
    };
    const { rolled, countedBy } = this;
    return {
      now: fleet.clock.now,
      supplier: options.supplier,
      desired: desiredOf(fleet),
      rules: options.rules,
      pool,
      busy,
      booting,
      rolled,
      wave,
      retries,
      skipped,
      setAside,
      paused,
      quarantined,
      rollingBack,
      approved,
      usual: options.usual,
      countedBy,
    };
  }

  /** Reads the pool, plans, and begins all steps. */
  turn(): void {
    this.turns += 1;
    for (const id of this.joining) this.#see(id);
    for (const id of this.repairing) if (!this.fleet.machines.has(id)) this.repairing.delete(id);
    const situation = this.situation();
    const turn = planTurn(situation);
    this.blocked = turn.blocked;
    this.converged = turn.converged;
    this.wave = turn.wave;
    const { waves, growth } = situation.rules;
    this.countedBy = { waves, growth, replicas: situation.desired.replicas };
    for (const step of turn.steps) {
      this.watch.begins(step, situation);
      this.#begin(step);
    }
    this.#wake(turn.lookAgainAt);
    this.watch.after();
  }

  /**
   * Simulates that Ostler's worker dies: all tasks are lost, and the next reconcile begins them from the state of the
   * pool.
   */
  restart(): void {
    this.#life += 1;
    for (const doing of [this.joining, this.leaving, this.repairing, this.victims, this.#judged]) doing.clear();
    this.#gatesAsked = false;
  }

  /** Changes the desired template. */
  change(template: string): void {
    this.restart();
    const fresh = { booting: {}, retries: [], skipped: [], setAside: [], failed: [], rolled: false };
    Object.assign(this, fresh, { wave: freshWave(), quarantined: false, approved: false });
    this.fleet.change(template);
  }

  #wake(at: number | null): void {
    const { clock } = this.fleet;
    if (this.#wakeAt <= clock.now) this.#wakeAt = Infinity;
    if (at === null || at >= this.#wakeAt) return;
    this.#wakeAt = at;
    clock.after(at - clock.now, () => {});
  }

  #begin(step: Step): void {
    switch (step.kind) {
      case "spare":
        return this.#set(step.machine.id, { marked: false, held: false, going: false });
      case "join":
        return this.#join(step.machine, step.attempt);
      case "admit":
        return this.#admit(step);
      case "leave":
        return this.#leave(step.machine);
      case "repair":
        return this.#repair(step.machine);
      case "gates":
        return this.#askGates();
    }
  }

  #admit({ newcomer, victim, attempt }: Step & { kind: "admit" }): void {
    if (attempt > 0 && this.retries.includes(attempt)) this.retries.splice(this.retries.indexOf(attempt), 1);
    if (victim) this.victims.set(newcomer.id, victim.id);
    this.booting[newcomer.id] ??= { since: this.fleet.clock.now, attempt };
    this.joining.add(newcomer.id);
    this.#soon(this.options.write, () => {
      if (victim) this.#set(victim.id, { marked: true, held: true });
      this.#soon(this.options.write, () => {
        this.#set(newcomer.id, { held: false });
        this.#expect(newcomer.id);
      });
    });
  }

  #join(id: string, attempt: number): void {
    if (attempt > 0 && !this.booting[id]) this.retries.splice(this.retries.indexOf(attempt), 1);
    this.booting[id] ??= { since: this.fleet.clock.now, attempt };
    this.joining.add(id);
    this.#expect(id);
  }

  #expect(id: string): void {
    this.#soon([joinDeadline, joinDeadline], () => {
      if (this.joining.has(id) && !this.fleet.machines.get(id)?.ready) this.#fail(id);
    });
  }

  #see(id: string): void {
    const machine = this.fleet.machines.get(id);
    if (!machine || machine.leaving) return this.#forget(id);
    if (!machine.ready || this.#judged.has(id)) return;
    this.#judged.add(id);
    const isPassed = !this.options.gateFails(machine.nth);
    this.#soon(this.options.gates, () => isPassed ? this.#forget(id) : this.#fail(id));
  }

  #forget(id: string): void {
    this.joining.delete(id);
    this.victims.delete(id);
    this.#judged.delete(id);
    // An object is slow to enumerate after `delete`, and every reconcile enumerates it.
    if (id in this.booting) {
      this.booting = Object.fromEntries(Object.entries(this.booting).filter(([key]) => key !== id));
    }
  }

  #fail(id: string): void {
    const attempt = (this.booting[id]?.attempt ?? 0) + 1;
    this.#forget(id);
    if (attempt > attempts) {
      this.failed.push(id);
      this.quarantined = true;
      return;
    }
    this.retries.push(attempt);
    this.#set(id, { leaving: true, held: false });
  }

  #leave({ id }: Member): void {
    this.leaving.add(id);
    this.#set(id, { going: true });
    this.#soon(this.fleet.options.leave, () => {
      this.leaving.delete(id);
      const machine = this.fleet.machines.get(id);
      if (this.options.undrainable.includes(id)) this.setAside.push(id);
      else if (machine) this.fleet.remove(machine);
    });
  }

  #repair({ id }: Member): void {
    this.repairing.add(id);
    // After this write, which requests the deletion, the owner removes the machine even if the run is restarted.
    this.#soon(this.options.write, () => {
      const machine = this.fleet.machines.get(id);
      if (machine) this.fleet.evict(Object.assign(machine, { held: false }));
    });
  }

  #askGates(): void {
    if (this.#gatesAsked) return;
    this.#gatesAsked = true;
    this.#soon(this.options.gates, () => {
      this.#gatesAsked = false;
      this.wave = { ...this.wave, passed: true };
    });
  }

  #set(id: string, facts: Partial<SimMachine>): void {
    const machine = this.fleet.machines.get(id);
    if (!machine) return;
    Object.assign(machine, facts);
    this.fleet.touch();
  }

  #soon(range: [number, number], act: () => void): void {
    const life = this.#life;
    this.fleet.clock.after(this.fleet.chance(...range), () => {
      if (life === this.#life) act();
    });
  }
}

function freshWave(): WaveState {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

function desiredOf({ template, replicas, surge }: Fleet): Desired {
  return {
    generation: 1,
    observed: "o",
    change: template,
    specHash: template,
    actor: "test",
    settled: true,
    revision: "1",
    templateHash: template,
    replicas,
    surge,
    image: "i",
    kubelet: "k",
    profile,
  };
}
