/** The invariants of a pool after its rollout, whatever happened meanwhile. */
import { deepEqual } from "node:assert/strict";
import type { Gate, Rules } from "../../workflows/contracts/mod.ts";
import type { FakePool } from "./fake_pool.ts";

/**
 * Fails if the pool has recorded a violation of an invariant, if machine-controller has drained a machine, or if
 * anything that Ostler sets is left on a machine or its node.
 */
export function assertOrderly(pool: FakePool): void {
  deepEqual(pool.violations, []);
  deepEqual(pool.drainedByController, []);
  deepEqual(pool.leftovers(), []);
}

/** Fails unless every desired machine runs that image, and no other machine exists. */
export function assertRuns(pool: FakePool, image: string): void {
  deepEqual(pool.images(), Array(pool.replicas).fill(image));
}

/** A budget of that number of machines. */
export function budgetOf(machines: number | string, rest: Partial<Rules["budget"]> = {}): Rules["budget"] {
  return { machines, perZone: null, zones: "Parallel", cluster: null, ...rest };
}

/** Returns a gate; the test sets its results on the pool. */
export function gateOf(run: Gate["run"], within = 60_000): Gate {
  return { name: "smoke", run, within, check: { kind: "NodeCondition", type: "Ready", status: "True" } };
}

/** Returns the time in `ms` milliseconds (epoch ms). */
export function inMs(ms: number): number {
  return Date.now() + ms;
}
