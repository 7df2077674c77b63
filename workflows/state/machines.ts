/** Single machines: what was last seen of them, and which of them boot, are drained, failed or wait. */
import type { AskedGates, Boot, CarriedMachines, Lately, PoolSnapshot, Updating } from "../contracts/mod.ts";
import type { Task, Tasks } from "./tasks.ts";
import type { Waves } from "./waves.ts";

export interface Machines extends CarriedMachines {
  snapshot: PoolSnapshot | undefined;
  /** Read with what is desired, for the look of the same round; `asked` tells what was asked. */
  glance: { asked: string; pool: PoolSnapshot } | undefined;
}

/** Machines of changes that were left which are remembered. */
const droppedKept = 200;

/** Of a converged pool nobody has to admit those that come, so that nothing else takes them off. */
const repairsKept = 100;

/** Nothing is done with any machine. */
export function freshMachines(): CarriedMachines {
  return {
    booting: {},
    dropped: {},
    draining: {},
    setAside: [],
    repaired: [],
    failed: [],
    failures: 0,
    retries: [],
    updating: {},
    lately: {},
  };
}

/** Notes what came of a machine, until a look has seen it. */
export function noteLately(machines: Machines, machine: string, what: Lately): void {
  machines.lately = { ...machines.lately, [machine]: what };
}

/** Goes on with what the run before had under way; the machines are looked at again. */
export function openMachines(carried: CarriedMachines): Machines {
  return { ...carried, snapshot: undefined, glance: undefined };
}

/** Gives the boot of a machine, which begins now unless it has begun; its attempt is taken from those that wait. */
export function ensureBoot(machines: Machines, machine: string, boot: Boot): Boot {
  const known = machines.booting[machine];
  // Whoever boots for a place that failed takes its attempts over, once.
  if (!known) machines.retries = without(machines.retries, boot.attempt);
  return machines.booting[machine] = { ...boot, ...known };
}

/** Starts the time of a machine anew that has not been admitted yet, however long ago it was chosen. */
export function restartBoot({ booting }: Machines, machine: string): void {
  if (booting[machine]) booting[machine] = { ...booting[machine], since: Date.now() };
}

/** Adds time that counts for nothing to what a machine has. */
export function postpone({ booting, draining, updating }: Machines, machine: string, ms: number): void {
  const boot = booting[machine];
  if (boot) boot.since += ms;
  if (boot?.gates && boot.gates.since !== null) boot.gates.since += ms;
  if (draining[machine]) draining[machine].since += ms;
  const update = updating[machine];
  if (update?.drainSince !== undefined) update.drainSince += ms;
}

/** The same for all machines that nothing is under way for. */
export function postponeIdle(machines: Machines, { running }: Readonly<Tasks>, ms: number): void {
  const busy = new Set(Object.values(running).map(({ subject }) => subject));
  const all = new Set([...Object.keys(machines.booting), ...Object.keys(machines.draining)]);
  for (const machine of all) if (!busy.has(machine)) postpone(machines, machine, ms);
}

/** Fresh attempts and times for all that boot or failed for good; nothing is skipped any more or counts as failed. */
export function retryMachines(machines: Machines): void {
  const fresh = { since: Date.now(), attempt: 0 };
  const known = Object.entries(machines.booting).map((
    [id, { counted: _, gates: __, ...boot }],
  ) => [id, { ...boot, ...fresh }]);
  // Also those that failed for good: one that is Ready must not be taken for one that passed its gates.
  machines.booting = Object.fromEntries([...known, ...machines.failed.map((id) => [id, { ...fresh }])]);
  machines.failed = [];
  machines.failures = 0;
  machines.retries = [];
  machines.setAside = [];
  machines.lately = Object.fromEntries(
    Object.entries(machines.lately).filter(([, { is }]) => !["Failed", "Refused"].includes(is)),
  );
  // They keep their places, and are gone on with from the start.
  const again = Object.entries(machines.updating).map(([id, update]): [string, Updating] => {
    const { templateHash, image } = update;
    return [id, update.isOut ? { since: Date.now(), templateHash, image } : update];
  });
  machines.updating = Object.fromEntries(again);
}

/** Gives up the places of machines that failed in place and are out of service. */
export function dropOut(machines: Machines, fits: (machine: string, update: Updating) => boolean): void {
  const kept = Object.entries(machines.updating).filter(([id, update]) => !update.isOut || !fits(id, update));
  machines.updating = Object.fromEntries(kept);
}

/** Forgets what was counted of another change, except where that is still being left. */
export function forgetFailures(machines: Machines, { keepCounts }: { keepCounts: boolean }): void {
  if (!keepCounts) {
    machines.failures = 0;
    machines.setAside = [];
  }
  machines.retries = [];
  machines.failed = [];
  machines.repaired = [];
}

/** Counts a machine that failed for good, once, however often its deletion has to be tried again. */
export function countFailure(machines: Machines, machine: string): number {
  const boot = machines.booting[machine];
  if (!boot?.counted) machines.failures += 1;
  if (boot) boot.counted = true;
  return machines.failures;
}

/** Keeps a machine that failed for good, so that somebody can look at it. */
export function keepFailed(machines: Machines, machine: string): void {
  machines.failed = [...machines.failed, machine];
  delete machines.booting[machine];
}

/** Drops boots of a change that is left: one of them that is Ready would else be taken for one that passed its gates. */
export function dropBoots(machines: Machines, isDropped: (boot: Boot) => boolean, templateHash: string): void {
  const entries = Object.entries(machines.booting);
  const failed = machines.failed.map((id): [string, Boot] => [id, { since: 0, attempt: 0, templateHash }]);
  const all = [...Object.entries(machines.dropped), ...entries.filter(([, boot]) => isDropped(boot)), ...failed];
  machines.dropped = Object.fromEntries(all.slice(-droppedKept));
  machines.booting = Object.fromEntries(entries.filter(([, boot]) => !isDropped(boot)));
}

/** Drops everything that boots. */
export function dropAllBoots(machines: Machines): void {
  machines.dropped = { ...machines.dropped, ...machines.booting };
  machines.booting = {};
}

/** Takes dropped machines of this template back, with a fresh start. */
export function takeBack(machines: Machines, templateHash: string): void {
  const isBack = ([, boot]: [string, Boot]): boolean => boot.templateHash === templateHash;
  const entries = Object.entries(machines.dropped);
  const back = entries.filter(isBack).map(([id, { gates: _, ...boot }]) => [id, { ...boot, since: Date.now() }]);
  machines.dropped = Object.fromEntries(entries.filter((each) => !isBack(each)));
  machines.booting = { ...machines.booting, ...Object.fromEntries(back) };
}

/** Notes a machine that was replaced for being unhealthy. */
export function noteRepaired(machines: Machines, machine: string): void {
  machines.repaired = [...machines.repaired, machine].slice(-repairsKept);
}

function without(numbers: number[], one: number): number[] {
  const at = numbers.indexOf(one);
  return at < 0 ? numbers : numbers.toSpliced(at, 1);
}

// Gates that are asked, of a machine or of a wave, so that the next run of a chain goes on with them.

interface Asked {
  readonly machines: Machines;
  readonly waves: Waves;
}

/** What is asked about the subject of a task. */
export function askedGatesOf({ machines, waves }: Asked, { kind, subject }: Readonly<Task>): AskedGates | null {
  return kind === "gates" ? waves.gates : of(machines, { kind, subject })?.gates ?? null;
}

/** Notes what is asked about it; null for nothing. */
export function noteAskedGates({ machines, waves }: Asked, { kind, subject }: Task, asked: AskedGates | null): void {
  if (kind === "gates") return void (waves.gates = asked);
  const boot = of(machines, { kind, subject });
  if (!boot) return; // its change was left
  delete boot.gates;
  if (asked) boot.gates = asked;
}

function of(
  { booting, updating }: Machines,
  { kind, subject }: Pick<Task, "kind" | "subject">,
): { gates?: AskedGates } | undefined {
  return kind === "update" ? updating[subject] : booting[subject];
}

/** Those that could not be judged, also where their task has not begun again. */
export function gatesInDoubt({ machines, waves }: Asked, promoted: string): AskedGates[] {
  const asked = [...Object.values(machines.booting), ...Object.values(machines.updating)];
  const all = [...asked.map(({ gates }) => gates), waves.gates];
  return all.filter((asked) =>
    asked !== null && asked !== undefined && !["", promoted].includes(asked.doubt)
  ) as AskedGates[];
}
