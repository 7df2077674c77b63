import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure } from "@temporalio/common";
import { deepEqual, equal } from "node:assert/strict";
import { troubleOf } from "../../../../workflows/state/trouble.ts";

/** Wraps `cause` in an ActivityFailure, as Temporal does when a normal (not a local) activity fails. */
function wrapped(cause: Error): ActivityFailure {
  return new ActivityFailure(
    "Activity task failed",
    "someActivity",
    "7",
    RetryState.MAXIMUM_ATTEMPTS_REACHED,
    "w",
    cause,
  );
}

function failed(type: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable("Cannot do it", type);
}

const table: [string, string][] = [
  ["MachineGone", "replan"],
  ["GenerationStale", "replan"],
  ["ProfileMissing", "halt"],
  ["ProfileNotApproved", "halt"],
  ["NameCollision", "halt"],
  ["AccessDenied", "halt"],
  ["MachineRemains", "halt"],
  ["CloudRefused", "halt"],
  ["LastGoodMissing", "halt"],
  ["SettleExpired", "halt"],
  ["ApiUnavailable", "unreachable"],
  ["NotFoundError", "unreachable"],
  ["InternalError", "halt"],
  ["SomethingNew", "halt"],
];

for (const [type, kind] of table) {
  Deno.test(`troubleOf: returns ${kind} when a normal or local activity fails with ${type}`, () => {
    equal(troubleOf(wrapped(failed(type))).kind, kind);
    equal(troubleOf(failed(type)).kind, kind);
  });
}

Deno.test("troubleOf: halts with the type as the reason and the unchanged message", () => {
  deepEqual(troubleOf(wrapped(failed("MachineRemains"))), {
    ...{ kind: "halt", reason: "MachineRemains", message: "Cannot do it" },
  });
});

Deno.test("troubleOf: returns unreachable when an activity times out", () => {
  const timeout = new TimeoutFailure("activity timed out", undefined, "START_TO_CLOSE");
  equal(troubleOf(wrapped(timeout)).kind, "unreachable");
  equal(troubleOf(timeout).kind, "unreachable");
});

Deno.test("troubleOf: rethrows cancellations and internal errors", () => {
  equal(troubleOf(new CancelledFailure("cancelled")).kind, "rethrow");
  equal(troubleOf(wrapped(new CancelledFailure("cancelled"))).kind, "rethrow");
  equal(troubleOf(new TypeError("undefined is not a function")).kind, "rethrow");
  equal(troubleOf("a text").kind, "rethrow");
});
