import assert from "node:assert/strict";
import { Client } from "@temporalio/client";
import { defaultPayloadConverter, type Payload } from "@temporalio/common";
import type { Engine } from "../../../../cli/connect/engine.ts";
import { engineOf } from "../../../../cli/connect/temporal_engine.ts";
import { Refusal, TimedOut, Unreachable } from "../../../../cli/failure.ts";
import { UsageError } from "../../../../cli/usage_error.ts";
import { grpcStatus } from "../../../support/grpc_status.ts";

const pool = { namespace: "fleet", name: "pool" };
const order = { pool, name: "promote" as const, command: { by: "ada" }, within: 1_000 };
const lost = grpcStatus(
  9,
  "Unable to perform workflow execution update due to unexpected workflow task failure.",
);

const schedule = {
  action: {
    startWorkflow: {
      taskQueue: { name: "site-a" },
      memo: { fields: { cluster: defaultPayloadConverter.toPayload({ uid: "uid-1", name: "" }) } },
      input: { payloads: [defaultPayloadConverter.toPayload({ deadlines: { ready: "90m", drain: "8h" } })] },
    },
  },
};

/** The engine over a client whose server gives these answers, one per request, and has the Schedule of the cluster. */
function engine(...answers: unknown[]): Engine {
  return asked({ answers }).engine;
}

interface Given {
  answers?: unknown[];
  /** The Schedule, or the error with which its read fails. */
  found?: unknown;
  /** The UID of the cluster of the kubeconfig; undefined if it cannot be read. */
  uid?: string;
  taskQueue?: string;
}

/** Like `engine`, with its requests as [method, request] in order. */
function asked({ answers = [], found = schedule, uid = "uid-1", taskQueue }: Given): {
  engine: Engine;
  requests: [string, unknown][];
} {
  const requests: [string, unknown][] = [];
  const answer = (method: string) => (request: unknown): Promise<unknown> => {
    requests.push([method, request]);
    const next = method === "describeSchedule" ? found instanceof Error ? found : { schedule: found } : answers.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const within = (_: unknown, work: () => Promise<unknown>): Promise<unknown> => work();
  const connection = {
    workflowService: new Proxy({}, { get: (_, method) => answer(String(method)) }),
    withDeadline: within,
    ensureConnected: () => Promise.resolve(),
  };
  const client = new Client({ connection: connection as never });
  const options = {
    ...{ address: "there", namespace: "default", access: {}, cluster: "" },
    uid: () => uid === "" ? Promise.reject(new Error("forbidden")) : Promise.resolve(uid),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  };
  return { engine: engineOf(client, options), requests };
}

function answered(message: string): object {
  const payloads = [defaultPayloadConverter.toPayload({ phase: "Rolling", message })];
  return { stage: 3, updateRef: { workflowExecution: { runId: "r" } }, outcome: { success: { payloads } } };
}

Deno.test("engine: sends an update a second time if it was lost because the run completed, and not if it failed for another reason", async () => {
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

/** The task queue and input of the run that a request starts with its first operation. */
function startIn(request: unknown): unknown[] {
  const { operations: [first] } = request as {
    operations: [{ startWorkflow: { taskQueue: { name: string }; input: { payloads: [Payload] } } }];
  };
  return [
    first.startWorkflow.taskQueue.name,
    defaultPayloadConverter.fromPayload(first.startWorkflow.input.payloads[0]),
  ];
}

for (const name of ["pause", "resume", "retry"] as const) {
  Deno.test(`engine: starts a run for ${name} with the task queue and the deadlines of the Schedule, and reads the Schedule only once for two commands`, async () => {
    const busy = grpcStatus(9, "busy");
    const { engine, requests } = asked({ answers: [busy, busy], taskQueue: "of-another-shell" });
    await assert.rejects(engine.send({ ...order, name }), Refusal);
    await assert.rejects(engine.send({ ...order, name }), Refusal);
    const [[described, about], [method, request], ...rest] = requests as [[string, unknown], [string, unknown]];
    const scheduleId = "renew-credentials";
    assert.deepEqual([described, about], ["describeSchedule", { namespace: "default", scheduleId }]);
    assert.equal(method, "executeMultiOperation");
    assert.deepEqual(startIn(request), ["site-a", { ...pool, deadlines: { ready: "90m", drain: "8h" } }]);
    assert.equal(rest.length, 1);
  });
}

Deno.test("engine: without a readable Schedule, reaches open runs, and starts runs only on the task queue of OSTLER_TASK_QUEUE", async () => {
  const none = grpcStatus(5, "schedule not found");
  const open = asked({ found: none, answers: [answered("paused")] });
  assert.equal((await open.engine.send({ ...order, name: "pause" })).message, "paused");
  const atRest = asked({ found: none, answers: [grpcStatus(5, "not found")] });
  await assert.rejects(
    atRest.engine.send({ ...order, name: "pause" }),
    new Refusal(
      'Failed to pause the rollout of "fleet/pool": the task queue for a new run is unknown, because Schedule ' +
        '"renew-credentials" in Temporal\'s namespace "default" does not exist; give this cluster\'s name with ' +
        "--cluster and its namespace with --temporal-namespace, or start Ostler",
    ),
  );
  const forbidden = asked({ found: grpcStatus(7, "forbidden"), answers: [grpcStatus(5, "not found")] });
  await assert.rejects(
    forbidden.engine.send({ ...order, name: "retry" }),
    /cannot be read \(.*forbidden\); repeat the command, or set OSTLER_TASK_QUEUE$/,
  );
  const given = asked({ found: none, answers: [grpcStatus(9, "busy")], taskQueue: "site-b" });
  await assert.rejects(given.engine.send({ ...order, name: "pause" }), Refusal);
  assert.deepEqual(startIn(given.requests[1]?.[1]), ["site-b", pool]);
});

Deno.test("engine: sends nothing, and starts no plan and no evaluation, when the Schedule has the UID of another cluster", async () => {
  const about = 'Schedule "renew-credentials" in Temporal\'s namespace "default" belongs to another cluster; give ' +
    "this cluster's name with --cluster (`ostler clusters` lists the names)";
  const { engine, requests } = asked({ uid: "uid-2" });
  await assert.rejects(engine.send(order), new UsageError(`Failed to promote the rollout of "fleet/pool": ${about}`));
  await assert.rejects(engine.plan(pool), new UsageError(`Failed to plan the rollout of "fleet/pool": ${about}`));
  const image = { name: "good", within: 0 };
  await assert.rejects(engine.admitImage(image), new UsageError(`Failed to admit OSImage "good": ${about}`));
  assert.deepEqual(requests.map(([method]) => method), ["describeSchedule"]);
});

Deno.test("engine: returns the progress of a run, unless the Schedule has the UID of another cluster", async () => {
  const progress = { phase: "Rolling" };
  const answers = (): unknown[] => [{ queryResult: { payloads: [defaultPayloadConverter.toPayload(progress)] } }];
  assert.deepEqual(await asked({ answers: answers() }).engine.progress(pool), progress);
  assert.deepEqual(await asked({ answers: answers(), uid: "" }).engine.progress(pool), progress);
  assert.equal(await asked({ answers: answers(), uid: "uid-2" }).engine.progress(pool), undefined);
});

Deno.test("engine: does not know the owner when it cannot read the UID of the cluster, or an older Schedule has none", async () => {
  assert.deepEqual((await asked({}).engine.home()).owner, "This");
  assert.deepEqual((await asked({ uid: "" }).engine.home()).owner, "Unknown");
  const { memo: _, input: __, ...bare } = schedule.action.startWorkflow;
  const home = await asked({ found: { action: { startWorkflow: bare } } }).engine.home();
  assert.deepEqual([home.owner, home.taskQueue, home.deadlines], ["Unknown", "site-a", undefined]);
});

Deno.test("engine: does not start an evaluation or a plan when the task queue is unknown", async () => {
  const { engine, requests } = asked({ found: grpcStatus(5, "schedule not found") });
  await assert.rejects(engine.admitImage({ name: "good", within: 0 }), Refusal);
  await assert.rejects(engine.plan(pool), Refusal);
  await assert.rejects(asked({ found: grpcStatus(14, "connection reset") }).engine.plan(pool), Unreachable);
  assert.deepEqual(requests.map(([method]) => method), ["describeSchedule"]);
});

Deno.test("engine: reports a command without an answer as one that Ostler may still carry out", async () => {
  await assert.rejects(
    engine(grpcStatus(4, "late")).send({ ...order, name: "abort" }),
    new TimedOut(
      'No answer to abort of "fleet/pool" within 1 s: Ostler may still carry it out once its worker runs; check the ' +
        "worker, then `ostler status`",
    ),
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
