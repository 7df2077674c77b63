/**
 * Changes by activities to machines and nodes of a fake pool; for an absent machine `mark` and `admit` fail, and all
 * other changes succeed.
 */
import { failure } from "./fake_failure.ts";
import type { FakeMachine, FakePool } from "./fake_pool.ts";

type Change<Input = unknown> = (pool: FakePool, machine: FakeMachine | undefined, input: Input) => void;

/** Marks a machine as the next one to be replaced, and sets its hold. */
export const mark: Change = (pool, machine) => {
  if (!machine) throw failure("MachineGone", "Failed to choose the machine: it was deleted");
  machine.mark = machine.hold = pool.holder;
};

/**
 * Removes hold, mark and cordon of a machine. Without `letGo`, a machine that is being deleted stays held, because it
 * would be deleted at once otherwise.
 */
export const spare: Change<{ letGo?: boolean }> = (_pool, machine, { letGo = false }) => {
  if (!machine || (machine.leaving && !letGo)) return;
  machine.mark = machine.hold = "";
  machine.cordoned = machine.isSparedByAutoscaler = false;
};

/**
 * Lets a held machine boot; records a violation if the config for its revision is not published, or if no window is
 * open.
 */
export const admit: Change = (pool, machine) => {
  if (!machine) throw failure("MachineGone", "Failed to admit the machine: it was deleted");
  if (pool.published?.revision !== machine.set.revision) {
    pool.violations.push(`${machine.name} was admitted before its secrets were published`);
  }
  const { windows } = pool.rules;
  const isOpen = !windows || windows.some(({ from, to }) => from <= Date.now() && Date.now() < to);
  if (!isOpen && pool.convergedHash !== "rolling-back") {
    pool.violations.push(`${machine.name} was admitted outside a window`);
  }
  machine.isAdmitted ||= machine.hold !== "" && isAboveWanted(pool);
  machine.hold = "";
};

// Whether there are already as many machines as desired: a machine in place of a missing one is not a replacement, and
// does not count against the budget.
function isAboveWanted({ machines, replicas }: FakePool): boolean {
  return machines.filter(({ booted, leaving }) => booted && !leaving).length >= replicas;
}

/** Keeps new pods and the autoscaler away from a node. */
export const cordon: Change = (_pool, machine) => {
  if (machine) machine.cordoned = machine.isSparedByAutoscaler = true;
};

/** Lets a drained machine be deleted; records a violation if the machine was not drained. */
export const release: Change = (pool, machine) => {
  if (!machine) return;
  if (machine.ready && !machine.drained) pool.violations.push(`${machine.name} was released undrained`);
  Object.assign(machine, { hold: "", skipsEviction: true });
};

/** Deletes a machine and its hold. */
export const remove: Change<{ drain?: boolean }> = (_pool, machine, { drain = false }) => {
  if (machine) Object.assign(machine, { leaving: true, hold: "", skipsEviction: !drain });
};

/** Removes everything that was made for the pool. */
export function cleanUp(pool: FakePool): void {
  for (const machine of pool.machines) machine.hold = machine.mark = "";
  pool.published = undefined;
  pool.state = "Gone";
  pool.touch();
}
