/**
 * Checks after every change of a fake pool that Ostler keeps its promises on Ready machines, budget and published
 * secrets; begins when the pool has converged for the first time.
 */
import type { Amount, Rules } from "../../workflows/contracts/mod.ts";
import type { FakeMachine, FakeSet } from "./fake_machine.ts";

/** The fields of a pool that are checked. */
export interface WatchedPool {
  state: "Present" | "Deleting" | "Gone";
  convergedHash: string;
  machines: FakeMachine[];
  current: FakeSet | undefined;
  replicas: number;
  surge: number;
  rules: Pick<Rules, "budget">;
  published: object | undefined;
}

/** Records broken promises, as text. */
export class FakeWatch {
  readonly violations: string[] = [];
  /** Maximum number of machines that were changing at the same time. */
  mostChanging = 0;
  /** The desired number of machines when at least that many were Ready for the last time. */
  #complete = 0;
  #booted = 0;
  /** Machines that were removed as unhealthy, until the pool is complete again. */
  #lost = 0;

  /**
   * Records the removal of an unhealthy machine: until the pool is complete again, fewer Ready machines are not the
   * rollout's fault.
   */
  lose(): void {
    this.#lost += 1;
  }

  look(pool: WatchedPool): void {
    if (pool.convergedHash === "" || pool.state !== "Present") return;
    this.#lookAtReady(pool);
    this.#lookAtBooted(pool);
    this.#lookAtBudget(pool);
    if (pool.published === undefined) this.violations.push("no secrets are published");
  }

  #lookAtReady(pool: WatchedPool): void {
    const ready = pool.machines.filter((machine) => machine.ready && (!machine.isGoing || machine.ill)).length;
    if (ready < Math.min(pool.replicas, this.#complete - this.#lost)) this.violations.push(`${ready} Ready`);
    if (ready < pool.replicas) return;
    this.#complete = pool.replicas;
    this.#lost = 0;
  }

  // After a scale-down the pool has too many machines for a while, which is a violation only when one is added.
  #lookAtBooted(pool: WatchedPool): void {
    const booted = pool.machines.filter((machine) => machine.booted && !machine.isStuck).length;
    const most = pool.replicas + Math.max(1, pool.surge);
    if (booted > most && booted > this.#booted) this.violations.push(`${booted} booted`);
    this.#booted = booted;
  }

  #lookAtBudget(pool: WatchedPool): void {
    const { machines, perZone, zones } = pool.rules.budget;
    const changing = pool.machines.filter((machine) => isChanging(machine, pool));
    if (changing.length > this.mostChanging && changing.length > amountOf(machines, pool.replicas)) {
      this.violations.push(`${changing.map(({ name }) => name).join(" and ")} changing at once`);
    }
    this.mostChanging = Math.max(this.mostChanging, changing.length);
    const drained = changing.filter(({ ready }) => ready).map(({ zone }) => zone);
    const inOneZone = Math.max(0, ...drained.map((zone) => drained.filter((other) => other === zone).length));
    if (perZone !== null && inOneZone > amountOf(perZone, pool.replicas)) {
      this.violations.push(`${inOneZone} of one zone changing at once`);
    }
    if (zones === "OneAfterAnother" && new Set(drained).size > 1) this.violations.push("two zones changing at once");
  }
}

// A new machine is changing from its admission until it is Ready and its gates have passed, an old machine from its
// cordon until it is deleted. Removals by machine-controller itself, as after a scale-down, do not count.
function isChanging(machine: FakeMachine, { current }: WatchedPool): boolean {
  if (machine.leaving) return machine.ready && !machine.ill && machine.cordoned;
  return machine.isAdmitted && machine.booted && (!machine.ready || (machine.isJudged && machine.set === current));
}

/** Returns the number of machines of an amount; a percentage is rounded up, to at least one machine. */
function amountOf(amount: Amount, replicas: number): number {
  if (typeof amount === "number") return amount;
  return Math.max(1, Math.ceil((parseFloat(amount) / 100) * replicas));
}
