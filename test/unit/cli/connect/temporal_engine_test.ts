import assert from "node:assert/strict";
import { Client } from "@temporalio/client";
import { defaultPayloadConverter } from "@temporalio/common";
import type { Engine } from "../../../../cli/connect/engine.ts";
import { engineOf } from "../../../../cli/connect/temporal_engine.ts";
import { Refusal, TimedOut, Unreachable } from "../../../../cli/failure.ts";
import { grpcStatus } from "../../../support/grpc_status.ts";

const pool = { namespace: "fleet", name: "pool" };
const order = { pool, name: "promote" as const, command: { by: "ada" }, within: 1_000 };
const lost = grpcStatus(
  9,
  "Unable to perform workflow execution update due to unexpected workflow task failure.",
);

/** The engine over a client whose server gives these answers, one per request. */
function engine(...answers: unknown[]): Engine {
  const answer = (): Promise<unknown> => {
    const next = answers.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const within = (_: unknown, work: () => Promise<unknown>): Promise<unknown> => work();
  const connection = {
    workflowService: new Proxy({}, { get: () => answer }),
    withDeadline: within,
    ensureConnected: () => Promise.resolve(),
  };
  const client = new Client({ connection: connection as never });
  return engineOf(client, { address: "there", namespace: "default", access: {}, taskQueue: "ostler", cluster: "" });
}

function answered(message: string): object {
  const payloads = [defaultPayloadConverter.toPayload({ phase: "Rolling", message })];
  return { stage: 3, updateRef: { workflowExecution: { runId: "r" } }, outcome: { success: { payloads } } };
}

Deno.test("engine: repeats an update once when it was lost with the last step of a run, and no update that failed otherwise", async () => {
  assert.equal((await engine(lost, answered("promoted")).send(order)).message, "promoted");
  await assert.rejects(engine(lost, lost).send(order), Refusal);
  await assert.rejects(engine(grpcStatus(9, "busy"), answered("promoted")).send(order), Refusal);
});

Deno.test("engine: fails with the right exit code when Temporal does not answer a command", async () => {
  const away = new Unreachable("Failed to reach Temporal at there: connection refused");
  await assert.rejects(engine(grpcStatus(14, "connection refused")).send(order), away);
  await assert.rejects(engine(grpcStatus(14, "connection refused")).send({ ...order, name: "pause" }), away);
  await assert.rejects(engine(grpcStatus(4, "late")).send(order), TimedOut);
  await assert.rejects(
    engine(grpcStatus(5, "not found")).send(order),
    new Refusal('Failed to promote the rollout of "fleet/pool": no rollout is under way'),
  );
});

Deno.test("engine: fails when Temporal does not answer a query for steps, and returns no steps when no run exists", async () => {
  const gone = grpcStatus(14, "connection refused");
  await assert.rejects(engine(gone).steps(pool, 10), Unreachable);
  const described = {
    workflowExecutionInfo: {
      ...{ execution: { workflowId: "w", runId: "r" }, type: { name: "w" }, status: 1 },
      ...{ historyLength: { toNumber: () => 3 }, startTime: {} },
    },
  };
  await assert.rejects(engine(described, gone).steps(pool, 10), Unreachable);
  await assert.rejects(engine(described, { history: { events: [] } }, gone).steps(pool, 10), Unreachable);
  assert.deepEqual(await engine(grpcStatus(5, "not found")).steps(pool, 10), []);
});
