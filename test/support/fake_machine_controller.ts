/**
 * The rules of machine-controller 1.66 for MachineSets and Machines, without its delays: rolling updates, choice of
 * machines, boot and removal.
 */
import { hashOf } from "./fake_machine.ts";
import type { FakeMachine, FakeSet, FakeTemplate } from "./fake_machine.ts";

/** The parts of a pool that machine-controller reads and changes. */
export interface ControlledPool {
  state: "Present" | "Deleting" | "Gone";
  template: FakeTemplate;
  replicas: number;
  surge: number;
  sets: FakeSet[];
  readonly current: FakeSet | undefined;
  machines: FakeMachine[];
  published: { revision: number } | undefined;
  readonly bootMs: number;
  readonly drainedByController: string[];
  readonly watch: { lose(): void };
  make(set: FakeSet): void;
  touch(): void;
}

/** Acts until nothing is left to do; slow steps continue through a timer. */
export function reconcile(pool: ControlledPool): void {
  if (pool.state === "Present") {
    number(pool);
    roll(pool);
  } else {
    for (const set of pool.sets) set.replicas = 0;
  }
  for (const set of pool.sets) scale(pool, set);
  for (const machine of [...pool.machines]) machine.leaving ? leave(pool, machine) : boot(pool, machine);
}

// Creates the MachineSet of the desired template with the next revision number; if the template has a MachineSet
// already, that one gets the number.
function number(pool: ControlledPool): void {
  const highest = Math.max(0, ...pool.sets.map((set) => set.revision));
  const known = pool.current;
  if (!known) {
    const revision = highest + 1;
    pool.sets.push({ ...pool.template, hash: hashOf(pool.template), revision, replicas: 0 });
  } else if (known.revision < highest) known.revision = highest + 1;
}

function roll(pool: ControlledPool): void {
  const current = pool.current as FakeSet;
  const old = pool.sets.filter((set) => set !== current);
  const { replicas, surge } = pool;
  const all = sum(pool.sets);
  if (current.replicas > replicas) current.replicas = replicas;
  else current.replicas += Math.max(0, Math.min(replicas + surge - all, replicas - current.replicas));
  // With a surge of 0 the real machine-controller removes a machine before it adds one, because `maxUnavailable` is
  // then 1.
  const least = surge === 0 ? replicas - 1 : replicas;
  let spare = sum(pool.sets) - least - (current.replicas - available(pool, current).length);
  for (const set of old) spare = shrink(set, Math.min(spare, set.replicas - available(pool, set).length)) + spare;
  spare = Math.min(spare, pool.sets.flatMap((set) => available(pool, set)).length - least);
  for (const set of old) spare = shrink(set, spare) + spare;
}

/** Lowers the replicas of a set; returns the change as a number that is 0 or negative. */
function shrink(set: FakeSet, by: number): number {
  const taken = Math.max(0, Math.min(by, set.replicas));
  set.replicas -= taken;
  return -taken;
}

function sum(sets: FakeSet[]): number {
  return sets.reduce((total, set) => total + set.replicas, 0);
}

function staying(pool: ControlledPool, set: FakeSet): FakeMachine[] {
  return pool.machines.filter((machine) => machine.set === set && !machine.leaving);
}

function available(pool: ControlledPool, set: FakeSet): FakeMachine[] {
  return staying(pool, set).filter((machine) => machine.ready);
}

function scale(pool: ControlledPool, set: FakeSet): void {
  const there = staying(pool, set);
  for (let missing = set.replicas - there.length; missing > 0; missing--) pool.make(set);
  // Deletes marked machines first. Among unmarked machines the real machine-controller chooses at random; this fake
  // makes the worst choice: the newest Ready machine.
  const byTurn = there.sort((a, b) =>
    Number(b.mark !== "") - Number(a.mark !== "") || Number(b.ready) - Number(a.ready) || b.created - a.created
  );
  for (const machine of byTurn.slice(0, Math.max(0, there.length - set.replicas))) machine.leaving = true;
}

function boot(pool: ControlledPool, machine: FakeMachine): void {
  if (machine.isJoining || machine.hold || machine.fate === "instance") return;
  if (pool.published?.revision !== machine.set.revision && !machine.booted) return;
  machine.booted = true;
  if (machine.fate !== "joins" && machine.fate !== "gates") return;
  machine.isJoining = true;
  soon(pool, () => machine.ready = true, pool.bootMs);
}

function leave(pool: ControlledPool, machine: FakeMachine): void {
  if (!machine.booted) return void remove(pool, machine);
  if (machine.hold) return;
  if (machine.isGoing) return;
  machine.isGoing = true;
  if (!machine.skipsEviction && machine.ready) pool.drainedByController.push(machine.name);
  soon(pool, () => remove(pool, machine));
}

function remove(pool: ControlledPool, machine: FakeMachine): void {
  if (machine.ill) pool.watch.lose();
  pool.machines = pool.machines.filter((other) => other !== machine);
}

function soon(pool: ControlledPool, act: () => void, afterMs = 2): void {
  setTimeout(() => {
    act();
    pool.touch();
  }, afterMs);
}
