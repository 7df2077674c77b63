import type { Context } from "@temporalio/activity";
import { deepEqual, rejects } from "node:assert/strict";
import { stepLog } from "../../../../workers/telemetry/step_log.ts";
import { subjectOf } from "../../../../workers/telemetry/step_subject.ts";

const pool = { namespace: "fleet", name: "workers" };

/** Runs an activity as Temporal's SDK does, with `input`, and returns its log lines with their attributes. */
async function logged(input: unknown, step: () => Promise<unknown> = () => Promise.resolve()): Promise<object[]> {
  const lines: object[] = [];
  const sdk = { workflowId: "machine-deployment/fleet/workers", activityType: "deleteMachine", taskToken: "long" };
  const attributes = (): object => interceptors.outbound?.getLogAttributes?.({ ...sdk }, (given) => given) ?? {};
  const log = { info: (message: string) => void lines.push({ message, ...attributes() }) };
  const interceptors = stepLog({ log } as unknown as Context);
  await interceptors.inbound?.execute?.({ args: [input], headers: {} }, step);
  lines.push({ message: "Activity completed", ...attributes() });
  return lines;
}

Deno.test("step log: every line has workflow, pool, machine and node, and no task token of Temporal's SDK", async () => {
  const about = {
    ...{ workflowId: "machine-deployment/fleet/workers", activityType: "deleteMachine" },
    ...{ pool: "fleet/workers", machine: "m-1", node: "w-1" },
  };
  deepEqual(await logged({ pool, machine: "m-1", node: "w-1", drain: true }), [
    { message: "Step done", ...about },
    { message: "Activity completed", ...about },
  ]);
});

Deno.test("step log: writes no line of its own for a step without a machine", async () => {
  deepEqual((await logged({ pool })).map((line) => (line as { message: string }).message), ["Activity completed"]);
});

Deno.test("step log: passes on the error of a failed step", async () => {
  await rejects(logged({ pool, machine: "m-1" }, () => Promise.reject(new Error("x"))), { message: "x" });
});

Deno.test("step log: finds the machines that the input of a step names in any field, at most twenty", () => {
  const machines = Array.from({ length: 30 }, (_, at) => ({ machine: `m-${at}`, deadlines: {} }));
  deepEqual(subjectOf({ pool, machines: machines.slice(0, 1) }), { pool: "fleet/workers", machine: "m-0" });
  deepEqual(subjectOf({ machines }).machines?.split(",").length, 20);
  deepEqual([undefined, 3, { pool: 7, machine: {} }].map(subjectOf), [{}, {}, {}]);
});
