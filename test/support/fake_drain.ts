/** How nodes of a fake pool are drained, and how its gates are evaluated. */
import type { AwaitActivities, Blocker, DrainOutcome, GateVerdict } from "../../workflows/contracts/mod.ts";
import { failure } from "./fake_failure.ts";
import { nodeOf } from "./fake_machine.ts";
import type { FakeMachine, FakePool } from "./fake_pool.ts";

type DrainOrder = Parameters<AwaitActivities["awaitNodeDrained"]>[0];
type GateOrder = Parameters<AwaitActivities["awaitGates"]>[0];

/** Number of pods that a complete drain evicts. */
const pods = 2;

/** Returns Drained when nothing blocks, and Blocked for a new blocker or at the deadline. */
export function drain(pool: FakePool, order: DrainOrder): DrainOutcome | undefined {
  const machine = pool.machines.find(({ name }) => nodeOf(name) === order.node);
  if (!machine || machine.drained) return { outcome: "Drained", evicted: 0 };
  checkOthers(pool, machine);
  const blockers = blockersOf(pool, machine);
  if (blockers.length === 0 || order.force) {
    machine.drained = true;
    if (blockers.length > 0) pool.forced.push(order.node);
    return { outcome: "Drained", evicted: pods };
  }
  const key = JSON.stringify(blockers);
  const isLate = Date.now() >= order.until;
  if (isLate && order.rules.onBlocked === "SetAside") machine.isStuck = true;
  return isLate || key !== order.known ? { outcome: "Blocked", evicted: 0, blockers, key } : undefined;
}

function blockersOf(pool: FakePool, machine: FakeMachine): Blocker[] {
  const pods = [...(pool.blockers["*"] ?? []), ...(pool.blockers[machine.name] ?? [])];
  if (!machine.isNodeDown) return pods;
  return [{ pod: "default/web-1", owner: "Deployment default/web", why: "node unreachable" }];
}

// Records how many other machines were Ready when the drain began. Fewer than the desired number is a violation,
// because the drain takes promised capacity; with a surge of 0 nothing is recorded, because no machine is added first.
function checkOthers(pool: FakePool, machine: FakeMachine): void {
  const others = pool.machines.filter((other) =>
    other !== machine && other.ready && !other.isNodeDown && !other.leaving &&
    !(other.isJudged && other.set === pool.current)
  );
  if (pool.surge === 0 || machine.othersAtDrain !== undefined) return;
  machine.othersAtDrain = others.length;
  if (others.length < pool.replicas) {
    pool.violations.push(`${nodeOf(machine.name)} was drained with ${others.length} others Ready`);
  }
}

/** Returns the verdicts of all gates once all passed, one failed, or the deadline passed; undefined before that. */
export function judge(pool: FakePool, { gates, machine, until }: GateOrder): GateVerdict[] | undefined {
  const found = machine === undefined ? undefined : pool.find(machine);
  if (machine !== undefined && !found) {
    throw failure("MachineGone", "Failed to evaluate the gates of the machine: it was deleted");
  }
  const verdicts = gates.map(({ name }) => {
    const outcome = pool.verdict(name, machine);
    return { gate: name, outcome, message: `"${name}" says ${outcome}` };
  });
  const isDecided = verdicts.every(({ outcome }) => outcome === "Passed") ||
    verdicts.some(({ outcome }) => outcome === "Failed") || Date.now() >= until;
  // The gates of a machine do not count as being evaluated once the desired template differs from the machine's.
  if (found) found.isJudged = found.set === pool.current;
  return isDecided ? verdicts : undefined;
}

/** Records that the gates of a machine are not evaluated any more, however the evaluation has ended. */
export function endJudgement(pool: FakePool, machine: string | undefined): void {
  const found = machine === undefined ? undefined : pool.find(machine);
  if (found) found.isJudged = false;
}
