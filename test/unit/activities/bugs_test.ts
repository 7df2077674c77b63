import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { withBugsSorted } from "../../../activities/bugs.ts";
import { refused } from "../../../activities/failures.ts";
import { inActivity } from "../../support/activity_context.ts";
import type { ActivityRun } from "../../support/activity_context.ts";

async function failureOf(error: unknown, run: ActivityRun = {}): Promise<unknown> {
  const steps = withBugsSorted({ publishConfig: (_: object) => Promise.reject<void>(error) });
  return await inActivity(() => steps.publishConfig({}).then(() => undefined, (reason) => reason), run);
}

Deno.test("withBugsSorted: describes an internal error by its activity, type and line of code, never by its message", async () => {
  const fault = new TypeError('Unexpected token in "hunter2"');
  const failure = await failureOf(fault);
  ok(failure instanceof ApplicationFailure);
  equal(failure.type, "InternalError");
  match(failure.message, /^Failed to run activity "publishConfig": internal error, TypeError at bugs_test\.ts:\d+$/);
  equal(JSON.stringify([failure, failure.stack, failure.cause]).includes("hunter2"), false);
});

Deno.test("withBugsSorted: lets Temporal retry an internal error until the fourth attempt", async () => {
  const kinds = await Promise.all([1, 2, 3, 4, 5].map((attempt) => failureOf(new RangeError("x"), { attempt })));
  deepEqual(kinds.map((each) => (each as ApplicationFailure).nonRetryable), [false, false, false, true, true]);
});

Deno.test("withBugsSorted: passes on ApplicationFailures and cancellations unchanged", async () => {
  const refusal = refused("ObjectInvalid", "Failed to do it: HTTP 422");
  equal(await failureOf(refusal), refusal);
  const cancelled = new CancelledFailure("CANCELLED");
  equal(await failureOf(cancelled), cancelled);
  const late = new DOMException("broken off", "AbortError");
  equal(await failureOf(late, { cancel: AbortSignal.abort() }), late);
});

Deno.test("withBugsSorted: describes an internal error of a cancelled activity without its message, and lets Temporal retry it", async () => {
  const fault = new TypeError('Invalid URL: "https://robot:hunter2@registry.example"');
  const failure = await failureOf(fault, { cancel: AbortSignal.abort(), attempt: 4 });
  match(`${failure}`, /Failed to run activity "publishConfig": internal error, TypeError at bugs_test\.ts:\d+$/);
  equal((failure as ApplicationFailure).nonRetryable, false);
});

Deno.test("withBugsSorted: returns what its steps return", async () => {
  const steps = withBugsSorted({ double: (input: { of: number }) => Promise.resolve(2 * input.of) });
  equal(await inActivity(() => steps.double({ of: 21 })), 42);
  await rejects(inActivity(() => withBugsSorted({ step: () => Promise.reject<void>("a text") }).step()), {
    message: 'Failed to run activity "step": internal error, string',
  });
});
