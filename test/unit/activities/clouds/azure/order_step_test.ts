import { deepEqual, equal } from "node:assert/strict";
import type { Notes } from "../../../../../activities/clouds/azure/notes.ts";
import { heirOf, lagMs, nextStep, type Sight, type Step } from "../../../../../activities/clouds/azure/order_step.ts";

const since = Date.parse("2030-01-01T00:00:00Z");

/**
 * Returns a snapshot of a set with these instance IDs: a negative ID is being deleted, and an ID from 100 on was
 * created an hour before the order.
 */
function sight(
  { ids, size, open = true, orders = {}, isOld = false, lack = "" }: {
    ids: number[];
    size: number;
    open?: boolean;
    orders?: Record<number, string>;
    isOld?: boolean;
    lack?: string;
  },
): Sight {
  const vms = ids.map((id) => ({
    ...{ location: "", instanceId: String(Math.abs(id)) },
    provisioningState: id < 0 ? "Deleting" : "Succeeded",
    timeCreated: new Date(Math.abs(id) >= 100 ? since - 3_600_000 : since),
  }));
  const notes: Notes = {
    open: open ? { token: "t", after: 2, since } : undefined,
    makeUpFor: [],
    orders: new Map(Object.entries(orders).map(([id, token]) => [Number(id), token])),
  };
  return { notes, size, vms, lack, now: since + lagMs - (isOld ? 0 : 1) };
}

const none: Step = { do: "Wait", says: 'order "t" does not have an instance yet' };
const cases: { title: string; sight: Sight; step: Step }[] = [
  {
    title: "raises the size for a new order",
    sight: sight({ ids: [1, 2], size: 2, open: false }),
    step: { do: "Raise" },
  },
  {
    title: "returns the instance of an order, even if it is not shown",
    sight: sight({ ids: [1, 2], size: 3, open: false, orders: { 3: "t" } }),
    step: { do: "Tell", id: 3 },
  },
  { title: "waits for an instance that is not shown", sight: sight({ ids: [1, 2], size: 3 }), step: none },
  {
    title: "returns the first new instance",
    sight: sight({ ids: [4, 2, 3, 1], size: 4 }),
    step: { do: "Tell", id: 3 },
  },
  {
    title: "returns no instance that is older than the order",
    sight: sight({ ids: [1, 2, 100, 101], size: 4 }),
    step: none,
  },
  {
    title: "returns no instance of another order",
    sight: sight({ ids: [1, 2, 3, 4], size: 4, orders: { 3: "u" } }),
    step: { do: "Tell", id: 4 },
  },
  {
    title: "returns the first instance that is not leaving",
    sight: sight({ ids: [1, 2, -3, 4], size: 3 }),
    step: { do: "Tell", id: 4 },
  },
  {
    title: "binds a leaving instance when no other will come",
    sight: sight({ ids: [1, 2, -3], size: 2 }),
    step: { do: "Bind", id: 3 },
  },
  {
    title: "does not bind a leaving instance when another will come",
    sight: sight({ ids: [1, 2, -3], size: 3 }),
    step: none,
  },
  {
    title: "waits while Azure may not list the instance yet, even if the set has as many instances as its size",
    sight: sight({ ids: [1, 2], size: 2 }),
    step: none,
  },
  {
    title: "raises the size again when Azure lists no instance in time, and the set has as many instances as its size",
    sight: sight({ ids: [1, 2], size: 2, isOld: true }),
    step: { do: "Raise" },
  },
  {
    title: "withdraws an order without capacity",
    sight: sight({ ids: [1, 2], size: 3, isOld: true, lack: "full" }),
    step: { do: "Withdraw", size: 2, says: "full" },
  },
  {
    title: "does not withdraw an order whose instance may exist, although Azure does not list it yet",
    sight: sight({ ids: [1, 2], size: 3, lack: "full" }),
    step: none,
  },
  {
    title: "does not lower a size twice",
    sight: sight({ ids: [1, 2], size: 2, isOld: true, lack: "full" }),
    step: { do: "Withdraw", size: 2, says: "full" },
  },
  {
    title: "does not change a set that is short for unknown reasons",
    sight: sight({ ids: [1, 2], size: 3, isOld: true }),
    step: {
      do: "Wait",
      says: 'order "t" does not have an instance, and the scale set has fewer instances than its size',
    },
  },
];

for (const { title, sight, step } of cases) {
  Deno.test(`K16 nextStep: ${title}`, () => deepEqual(nextStep(sight, "t"), step));
}

const failed = { code: "ProvisioningState/failed/AllocationFailed", message: "full" };

/** Returns a snapshot this many ms after the open order "t", whose instance 3 failed for lack of capacity. */
function failedSince(ms: number): Sight {
  const seen = sight({ ids: [1, 2, 3], size: 3 });
  const vms = seen.vms.map((vm) =>
    vm.instanceId === "3" ? { ...vm, provisioningState: "Failed", instanceView: { statuses: [failed] } } : vm
  );
  return { ...seen, vms, now: since + ms };
}

const unlisted = sight({ ids: [1, 2], size: 3 });
const failedAs = { id: 3, code: "AllocationFailed" };
const condemned: Sight = {
  ...unlisted,
  notes: { ...unlisted.notes, open: { token: "t", after: 2, since, failed: failedAs } },
};

const others: { title: string; sight: Sight; step: Step }[] = [
  {
    title: "records the instance of the previous order in the request that places the next order",
    sight: sight({ ids: [1, 2, 3], size: 3 }),
    step: { do: "Raise", bound: 3 },
  },
  {
    title: "records, but does not delete, a failed instance of another caller's order, because that caller deletes it",
    sight: failedSince(60_000),
    step: { do: "Raise", bound: 3 },
  },
  {
    title: "does not remove an instance that failed long after its order",
    sight: failedSince(3_600_000),
    step: { do: "Raise", bound: 3 },
  },
  {
    title: "does not lower the size for another order of long ago",
    sight: { ...sight({ ids: [1, 2], size: 3, lack: "full" }), now: since + 3_600_000 },
    step: {
      do: "Wait",
      says: 'order "t" does not have an instance, and the scale set has fewer instances than its size',
    },
  },
];

/**
 * Returns a snapshot this many ms after the open order "t": another client has deleted its instance 3, and instance 4
 * was just created.
 */
function laterInstance(ms: number): Sight {
  const seen = sight({ ids: [1, 2, 4], size: 3, isOld: true });
  const vms = seen.vms.map((vm) => vm.instanceId === "4" ? { ...vm, timeCreated: new Date(since + ms) } : vm);
  return { ...seen, vms, now: since + ms };
}

Deno.test("fault G6: nextStep does not bind an instance that was created an hour after the open order of another caller", () => {
  equal(heirOf(laterInstance(3_599_000))?.instanceId, "4");
  equal(heirOf(laterInstance(3_600_000)), undefined);
  deepEqual(nextStep(laterInstance(3_600_000), "u"), { do: "Raise" });
  // The caller of order "t" itself gets the instance, because without one it would raise the size once more.
  deepEqual(nextStep(laterInstance(3_600_000), "t"), { do: "Bind", id: 4 });
});

Deno.test("K10 nextStep: records that the instance of the caller's own order failed, however old the order is", () => {
  for (const ms of [60_000, 3_600_000]) {
    deepEqual(nextStep(failedSince(ms), "t"), { do: "Condemn", id: 3, code: "AllocationFailed" });
  }
});

Deno.test("fault G14: nextStep deletes an instance that was recorded as failed, even while Azure does not list it, whichever order is requested", () => {
  for (const token of ["t", "u"]) {
    deepEqual(nextStep(condemned, token), { do: "TakeBack", id: 3, says: "AllocationFailed: instance 3 failed" });
  }
});

for (const { title, sight, step } of others) {
  Deno.test(`fault G6: nextStep ${title}`, () => deepEqual(nextStep(sight, "u"), step));
}
