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
   * A snapshot that was read together with the desired state, for the same reconcile. `asked` contains the parameters
   * of that read, as JSON; null if the pool has no machines, because the snapshot is then valid for any parameters.
   */
  glance: { asked: string | null; pool: PoolSnapshot } | undefined;
  /** Number of machines in a row that were recreated because they had been held for too long. */
  recreated: number;
}

/** Maximum number of machines in `dropped`, the list of machines of abandoned changes. */
const droppedKept = 200;

/**
 * Maximum number of repaired machines to remember. The list needs a limit, because in a converged pool no admission
 * removes machines from it.
 */
const repairsKept = 100;

/** Returns the state of a pool without any machine in progress. */
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

/** Records a recent result of a machine, such as a staged image, until a snapshot of the pool shows the result. */
export function noteLately(machines: Machines, machine: string, what: Lately): void {
  machines.lately = { ...machines.lately, [machine]: what };
}

/** Continues with the machines of the previous run; the first read replaces the snapshot. */
export function openMachines(carried: CarriedMachines): Machines {
  return { ...carried, snapshot: undefined, glance: undefined, recreated: 0 };
}

/**
 * Returns the record of a machine that boots. If there is none, creates it from `boot`, and removes the number of this
 * attempt from the pending retries.
 */
export function ensureBoot(machines: Machines, machine: string, boot: Boot): Boot {
  const known = machines.booting[machine];
  // A machine that boots in place of a failed one continues the failed machine's count of attempts; no other machine
  // may continue the same count.
  if (!known) machines.retries = without(machines.retries, boot.attempt);
  return machines.booting[machine] = { ...boot, ...known };
}

/** Raises the number of replicas in the records of booting machines to `replicas`, so that each has the highest one. */
export function noteReplicas({ booting }: Machines, replicas: number): void {
  for (const [id, boot] of Object.entries(booting)) {
    if (boot.replicas !== undefined && boot.replicas < replicas) booting[id] = { ...boot, replicas };
  }
}

/** Returns the record of a machine that is drained; creates it as of now if there is none. */
export function ensureDraining(
  { draining }: Machines,
  { id, templateHash, image, kubelet }: Pick<Member, "id" | "templateHash" | "image" | "kubelet">,
): Draining {
  return draining[id] ??= { since: Date.now(), templateHash, image, kubelet };
}

/** Returns the record of a machine that is updated in place; creates it as of now if there is none. */
export function ensureUpdating(
  { updating }: Machines,
  machine: string,
  update: Pick<Updating, "templateHash" | "image" | "isRefused">,
): Updating {
  return updating[machine] ??= { since: Date.now(), ...update };
}

/**
 * Restarts the join deadlines of a machine that is still held, because an earlier attempt to admit the machine may have
 * started these deadlines.
 */
export function restartBoot({ booting }: Machines, machine: string): void {
  const known = booting[machine];
  if (!known) return;
  const { isOut: _, ...boot } = known;
  booting[machine] = { ...boot, since: Date.now() };
}

/**
 * Carries out a `retry` command: gives new attempts and deadlines to machines that boot or failed for good, and forgets
 * which machines failed or were set aside.
 */
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

/**
 * Forgets the updates that match `fits` and left their machine out of service after a failure, so that these machines
 * no longer keep a slot.
 */
export function dropOut(machines: Machines, fits: (machine: string, update: Updating) => boolean): void {
  const kept = Object.entries(machines.updating).filter(([id, update]) => !update.isOut || !fits(id, update));
  machines.updating = Object.fromEntries(kept);
}

/**
 * Cancels the updates in place that match `fits` and have ordered neither a reboot nor a replacement: their machines
 * stay in service, and the next plan uncordons them.
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

/**
 * Forgets the failed, repaired and retried machines of the previous change. Also forgets the number of failures and the
 * machines that were set aside, unless `keepCounts` is set, as during a rollback.
 */
export function forgetFailures(machines: Machines, { keepCounts }: { keepCounts: boolean }): void {
  if (!keepCounts) {
    machines.failures = 0;
    machines.setAside = [];
  }
  machines.retries = [];
  machines.failed = [];
  machines.repaired = [];
}

/**
 * Counts a machine that failed for good, only once, however often its deletion is retried; returns the number of all
 * failures.
 */
export function countFailure(machines: Machines, machine: string): number {
  const boot = machines.booting[machine];
  if (!boot?.counted) machines.failures += 1;
  if (boot) boot.counted = true;
  return machines.failures;
}

/** Records that the deletion of a machine does not count as a failure to join, because it is counted or never booted. */
export function noteOut({ booting }: Machines, machine: string): void {
  if (booting[machine]) booting[machine] = { ...booting[machine], isOut: true };
}

/** Records that a machine failed for good and is kept, so that a person can inspect it. */
export function keepFailed(machines: Machines, machine: string): void {
  machines.failed = [...machines.failed, machine];
  delete machines.booting[machine];
}

/**
 * Moves the records of booting machines that match `isDropped`, and of all machines that failed for good, to `dropped`.
 * If the records were only deleted, a Ready one of these machines would count as a machine that passed its gates.
 */
export function dropBoots(machines: Machines, isDropped: (boot: Boot) => boolean, templateHash: string): void {
  const entries = Object.entries(machines.booting);
  const failed = machines.failed.map((id): [string, Boot] => [id, { since: 0, attempt: 0, templateHash }]);
  const all = [...Object.entries(machines.dropped), ...entries.filter(([, boot]) => isDropped(boot)), ...failed];
  machines.dropped = newestDropped(Object.fromEntries(all));
  machines.booting = Object.fromEntries(entries.filter(([, boot]) => !isDropped(boot)));
}

function newestDropped(all: Record<string, Boot>): Record<string, Boot> {
  return Object.fromEntries(Object.entries(all).slice(-droppedKept));
}

/** Moves the records of all booting machines to `dropped`, the list of machines of abandoned changes. */
export function dropAllBoots(machines: Machines): void {
  machines.dropped = newestDropped({ ...machines.dropped, ...machines.booting });
  machines.booting = {};
}

/** Moves the machines of this template from `dropped` back to `booting`; their join deadlines begin now. */
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

/** Returns the gates that are being evaluated for the subject of a task; null for none. */
export function askedGatesOf({ machines, waves }: Asked, { kind, subject }: Readonly<Task>): AskedGates | null {
  return kind === "gates" ? waves.gates : of(machines, { kind, subject })?.gates ?? null;
}

/** Records the gates that are being evaluated for the subject of a task; null removes the record. */
export function noteAskedGates({ machines, waves }: Asked, { kind, subject }: Task, asked: AskedGates | null): void {
  if (kind === "gates") return void (waves.gates = asked);
  const boot = of(machines, { kind, subject });
  if (!boot) return; // the change of this machine was abandoned
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

/**
 * Returns the inconclusive gates that are not promoted, also those of machines and waves whose task has not begun again
 * since a restart.
 */
export function gatesInDoubt({ machines, waves }: Asked): AskedGates[] {
  const asked = [...Object.values(machines.booting), ...Object.values(machines.updating)];
  const all = [...asked.map(({ gates }) => gates), waves.gates];
  return all.filter((asked) =>
    asked !== null && asked !== undefined && !["", promoted].includes(asked.doubt)
  ) as AskedGates[];
}
