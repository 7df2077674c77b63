import assert from "node:assert/strict";
import { ServiceError, WorkflowUpdateRPCTimeoutOrCancelledError } from "@temporalio/client";
import { NamespaceNotFoundError, WorkflowNotFoundError } from "@temporalio/common";
import { isLost, temporalFailure } from "../../../../cli/connect/temporal_failure.ts";
import { Refusal, Unreachable } from "../../../../cli/failure.ts";
import { grpcStatus } from "../../../support/grpc_status.ts";

const wrapped = (error: Error): Error => new ServiceError("Failed to describe workflow", { cause: error });

Deno.test("temporalFailure: finds the server's message in a wrapped gRPC error, and returns Unreachable or Refusal", () => {
  const away = grpcStatus(14, "connection refused");
  for (const error of [away, wrapped(away), wrapped(wrapped(away))]) {
    const failure = temporalFailure("there", error);
    assert.ok(failure instanceof Unreachable);
    assert.equal(failure.message, "Failed to reach Temporal at there: connection refused");
  }
  for (const [code, text] of [[7, "Request unauthorized"], [3, "WorkflowId is too long"]] as const) {
    const failure = temporalFailure("there", wrapped(grpcStatus(code, text)));
    assert.ok(failure instanceof Refusal);
    assert.equal(failure.message, `Failed to query Temporal at there: ${text}`);
  }
});

Deno.test("temporalFailure: names a missing namespace", () => {
  const failure = temporalFailure("there", new NamespaceNotFoundError("typo"));
  assert.ok(failure instanceof Refusal);
  assert.equal(
    failure.message,
    'Failed to query Temporal at there: namespace "typo" does not exist; give --temporal-namespace',
  );
});

Deno.test("temporalFailure: returns one line of a transport error, or states that no reason was given", () => {
  const text = 'Failed to call: code: Unavailable, message: "tcp connect error", source: Some(x)\nat here';
  assert.match(`${temporalFailure("there", grpcStatus(14, text))}`, /at there: tcp connect error$/);
  assert.match(`${temporalFailure("there", grpcStatus(13, ""))}`, /at there: no reason given$/);
});

Deno.test("temporalFailure: returns Unreachable, a late update, a missing workflow and programming errors unchanged", () => {
  const late = new WorkflowUpdateRPCTimeoutOrCancelledError("late", { cause: grpcStatus(4, "late") });
  const bug = new TypeError("x is not a function");
  const failed = new Unreachable("away");
  for (const error of [late, bug, wrapped(bug), failed, new WorkflowNotFoundError("none", "id", undefined)]) {
    assert.equal(temporalFailure("there", error), error);
  }
});

Deno.test("isLost: recognizes a failed workflow task by the message of the server", () => {
  const text = "Unable to perform workflow execution update due to unexpected workflow task failure.";
  assert.ok(isLost(grpcStatus(9, text)));
  assert.ok(isLost(wrapped(grpcStatus(9, text))));
  assert.ok(!isLost(wrapped(grpcStatus(9, "Workflow is busy"))));
  assert.ok(!isLost(new Error("workflow task failure")));
});
