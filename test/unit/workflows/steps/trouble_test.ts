import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure } from "@temporalio/common";
import { deepEqual, equal } from "node:assert/strict";
import { troubleOf } from "../../../../workflows/state/trouble.ts";

/** A normal activity's failure comes wrapped. */
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
  Deno.test(`troubleOf takes ${type} for ${kind}, from normal and local activities alike`, () => {
    equal(troubleOf(wrapped(failed(type))).kind, kind);
    equal(troubleOf(failed(type)).kind, kind);
  });
}

Deno.test("troubleOf halts with the type as the reason and the message as it is", () => {
  deepEqual(troubleOf(wrapped(failed("MachineRemains"))), {
    ...{ kind: "halt", reason: "MachineRemains", message: "Cannot do it" },
  });
});

Deno.test("troubleOf takes a timeout for a time in which nothing could be seen", () => {
  const timeout = new TimeoutFailure("activity timed out", undefined, "START_TO_CLOSE");
  equal(troubleOf(wrapped(timeout)).kind, "unreachable");
  equal(troubleOf(timeout).kind, "unreachable");
});

Deno.test("troubleOf leaves cancellations and bugs to others", () => {
  equal(troubleOf(new CancelledFailure("cancelled")).kind, "rethrow");
  equal(troubleOf(wrapped(new CancelledFailure("cancelled"))).kind, "rethrow");
  equal(troubleOf(new TypeError("undefined is not a function")).kind, "rethrow");
  equal(troubleOf("a text").kind, "rethrow");
});
