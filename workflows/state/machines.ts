/** The state of single machines: their last snapshot, and which of them boot, are drained, failed or wait. */
import type {
  AskedGates,
  Boot,
  CarriedMachines,
  Draining,
  Lately,
  Member,
  PoolSnapshot,
  Updating,
} from "../contracts/mod.ts";
import { callOff, type Task, type Tasks } from "./tasks.ts";
import type { Waves } from "./waves.ts";

export interface Machines extends CarriedMachines {
  snapshot: PoolSnapshot | undefined;
  /**
   * A snapshot read together with the desired state, for the same reconcile; `asked` is the question that it answers,
   * null for any: the pool has no machines.
   */
  glance: { asked: string | null; pool: PoolSnapshot } | undefined;
}

/** How many machines of abandoned changes are remembered. */
const droppedKept = 200;

/** How many repaired machines are remembered: in a converged pool, no admission removes them from the list. */
const repairsKept = 100;

/** Returns the state without any machine in progress. */
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

/** Records the result for a machine, until a snapshot contains the result. */
export function noteLately(machines: Machines, machine: string, what: Lately): void {
  machines.lately = { ...machines.lately, [machine]: what };
}

/** Continues with the machines of the previous run; the first read replaces the snapshot. */
export function openMachines(carried: CarriedMachines): Machines {
  return { ...carried, snapshot: undefined, glance: undefined };
}

/**
 * Returns the boot of a machine, which begins now unless it has begun; removes its attempt from the pending retries.
 */
export function ensureBoot(machines: Machines, machine: string, boot: Boot): Boot {
  const known = machines.booting[machine];
  // A machine that boots in place of a failed one takes over its attempts, once.
  if (!known) machines.retries = without(machines.retries, boot.attempt);
  return machines.booting[machine] = { ...boot, ...known };
}

/** Returns the drain of a machine, which begins now unless it has begun, perhaps in an earlier run. */
export function ensureDraining(
  { draining }: Machines,
  { id, templateHash, image, kubelet }: Pick<Member, "id" | "templateHash" | "image" | "kubelet">,
): Draining {
  return draining[id] ??= { since: Date.now(), templateHash, image, kubelet };
}

/** Returns the update in place of a machine, which begins now unless it has begun. */
export function ensureUpdating(
  { updating }: Machines,
  machine: string,
  update: Pick<Updating, "templateHash" | "image" | "isRefused">,
): Updating {
  return updating[machine] ??= { since: Date.now(), ...update };
}

/** Restarts the time of a machine that has not been admitted yet, however long ago it was chosen. */
export function restartBoot({ booting }: Machines, machine: string): void {
  if (booting[machine]) booting[machine] = { ...booting[machine], since: Date.now() };
}

/** Gives fresh attempts and times to machines that boot or failed for good; forgets failed and set-aside machines. */
export function retryMachines(machines: Machines): void {
  const fresh = { since: Date.now(), attempt: 0 };
  const known = Object.entries(machines.booting).map((
    [id, { counted: _, gates: __, ...boot }],
  ) => [id, { ...boot, ...fresh }]);
  // Includes machines that failed for good: a Ready one must not count as one that passed its gates.
  machines.booting = Object.fromEntries([...known, ...machines.failed.map((id) => [id, { ...fresh }])]);
  machines.failed = [];
  machines.failures = 0;
  machines.retries = [];
  machines.setAside = [];
  machines.lately = Object.fromEntries(
    Object.entries(machines.lately).filter(([, { is }]) => !["Failed", "Refused"].includes(is)),
  );
  // Machines whose update failed keep their slots, and start again.
  const again = Object.entries(machines.updating).map(([id, update]): [string, Updating] => {
    const { templateHash, image } = update;
    return [id, update.isOut ? { since: Date.now(), templateHash, image } : update];
  });
  machines.updating = Object.fromEntries(again);
}

/** Gives up the slots of machines whose update in place failed and that are out of service. */
export function dropOut(machines: Machines, fits: (machine: string, update: Updating) => boolean): void {
  const kept = Object.entries(machines.updating).filter(([id, update]) => !update.isOut || !fits(id, update));
  machines.updating = Object.fromEntries(kept);
}

/**
 * Cancels updates in place without an ordered reboot: their machines stay in service, and the next plan uncordons them.
 */
export function callOffUpdates(
  { machines, tasks }: { machines: Machines; tasks: Tasks },
  fits: (update: Pick<Updating, "templateHash">) => boolean,
): void {
  const isOrdered = ({ boot, isOrdering, replacing }: Updating): boolean =>
    boot !== undefined || isOrdering === true || replacing?.isOrdered === true;
  const dropped = Object.entries(machines.updating).filter(([, each]) => !isOrdered(each) && fits(each))
    .map(([id]) => id);
  callOff(tasks, ({ kind, subject }) => kind === "update" && dropped.includes(subject));
  machines.updating = Object.fromEntries(Object.entries(machines.updating).filter(([id]) => !dropped.includes(id)));
}

/** Forgets the counts of another change, unless that change is still being rolled back. */
export function forgetFailures(machines: Machines, { keepCounts }: { keepCounts: boolean }): void {
  if (!keepCounts) {
    machines.failures = 0;
    machines.setAside = [];
  }
  machines.retries = [];
  machines.failed = [];
  machines.repaired = [];
}

/** Counts a machine that failed for good, only once, however often its deletion is retried; returns all failures. */
export function countFailure(machines: Machines, machine: string): number {
  const boot = machines.booting[machine];
  if (!boot?.counted) machines.failures += 1;
  if (boot) boot.counted = true;
  return machines.failures;
}

/** Keeps a machine that failed for good, so that a person can inspect it. */
export function keepFailed(machines: Machines, machine: string): void {
  machines.failed = [...machines.failed, machine];
  delete machines.booting[machine];
}

/** Drops the boots of an abandoned change, as a Ready one would otherwise count as one that passed its gates. */
export function dropBoots(machines: Machines, isDropped: (boot: Boot) => boolean, templateHash: string): void {
  const entries = Object.entries(machines.booting);
  const failed = machines.failed.map((id): [string, Boot] => [id, { since: 0, attempt: 0, templateHash }]);
  const all = [...Object.entries(machines.dropped), ...entries.filter(([, boot]) => isDropped(boot)), ...failed];
  machines.dropped = Object.fromEntries(all.slice(-droppedKept));
  machines.booting = Object.fromEntries(entries.filter(([, boot]) => !isDropped(boot)));
}

/** Drops all boots. */
export function dropAllBoots(machines: Machines): void {
  machines.dropped = { ...machines.dropped, ...machines.booting };
  machines.booting = {};
}

/** Restores dropped machines of this template, with a fresh start. */
export function takeBack(machines: Machines, templateHash: string): void {
  const isBack = ([, boot]: [string, Boot]): boolean => boot.templateHash === templateHash;
  const entries = Object.entries(machines.dropped);
  const back = entries.filter(isBack).map(([id, { gates: _, ...boot }]) => [id, { ...boot, since: Date.now() }]);
  machines.dropped = Object.fromEntries(entries.filter((each) => !isBack(each)));
  machines.booting = { ...machines.booting, ...Object.fromEntries(back) };
}

/** Records a machine that was replaced because it was unhealthy. */
export function noteRepaired(machines: Machines, machine: string): void {
  machines.repaired = [...machines.repaired, machine].slice(-repairsKept);
}

function without(numbers: number[], one: number): number[] {
  const at = numbers.indexOf(one);
  return at < 0 ? numbers : numbers.toSpliced(at, 1);
}

// Records the gates that are evaluated for a machine or a wave, so that the next run of a chain continues with them.

interface Asked {
  readonly machines: Machines;
  readonly waves: Waves;
}

/** Returns the gates that are evaluated for the subject of a task. */
export function askedGatesOf({ machines, waves }: Asked, { kind, subject }: Readonly<Task>): AskedGates | null {
  return kind === "gates" ? waves.gates : of(machines, { kind, subject })?.gates ?? null;
}

/** Records the gates that are evaluated for the subject of a task; null for none. */
export function noteAskedGates({ machines, waves }: Asked, { kind, subject }: Task, asked: AskedGates | null): void {
  if (kind === "gates") return void (waves.gates = asked);
  const boot = of(machines, { kind, subject });
  if (!boot) return; // its change was abandoned
  delete boot.gates;
  if (asked) boot.gates = asked;
}

function of(
  { booting, updating }: Machines,
  { kind, subject }: Pick<Task, "kind" | "subject">,
): { gates?: AskedGates } | undefined {
  return kind === "update" ? updating[subject] : booting[subject];
}

/** The value that `promote` writes in place of an inconclusive result. */
export const promoted = "promoted";

/** Returns the inconclusive gates, also those whose task has not begun again. */
export function gatesInDoubt({ machines, waves }: Asked): AskedGates[] {
  const asked = [...Object.values(machines.booting), ...Object.values(machines.updating)];
  const all = [...asked.map(({ gates }) => gates), waves.gates];
  return all.filter((asked) =>
    asked !== null && asked !== undefined && !["", promoted].includes(asked.doubt)
  ) as AskedGates[];
}
