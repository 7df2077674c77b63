import type { Client } from "@temporalio/client";
import { deepEqual, equal } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";
import { startRollout } from "../../../workers/start_rollout.ts";

type Options = Parameters<Client["workflow"]["signalWithStart"]>[1];

async function started(
  environment: Record<string, string>,
  run?: { workflowId: string; runId: string },
  ended: unknown[] = [],
): Promise<[unknown, Options]> {
  const calls: [unknown, Options][] = [];
  const signalWithStart = (...call: [unknown, Options]): Promise<object> => {
    calls.push(call);
    return Promise.resolve({ signaledRunId: "run-9" });
  };
  const getHandle = (...which: string[]): unknown => ({
    terminate: () => Promise.resolve(void ended.push(which)),
  });
  const client = { workflow: { signalWithStart, getHandle } } as unknown as Client;
  const news = { pool: { namespace: "fleet", name: "pool" }, generation: 7, ...(run ? { run } : {}) };
  await startRollout(client, readConfig(environment), news);
  equal(calls.length, 1);
  return calls[0] as [unknown, Options];
}

Deno.test("startRollout starts or signals the one workflow of the pool", async () => {
  const [type, options] = await started({ OSTLER_TASK_QUEUE: "queue" });
  equal(type, "rollOutMachineDeployment");
  deepEqual([options.workflowId, options.taskQueue], ["machine-deployment/fleet/pool", "queue"]);
  deepEqual([options.signal, options.signalArgs], ["desiredChanged", [{ generation: 7 }]]);
  deepEqual(options.args, [{ namespace: "fleet", name: "pool" }]);
  equal(options.staticSummary, "Roll out fleet/pool");
  const attributes = options.typedSearchAttributes;
  const pairs = attributes && "getAll" in attributes ? attributes.getAll() : [];
  deepEqual(pairs.map(({ key, value }) => `${key.name}=${value}`), [
    ...["KubernetesNamespace=fleet", "MachineDeployment=pool", "Phase=Preparing"],
  ]);
});

Deno.test("startRollout passes on the deadlines and what an administrator set", async () => {
  const [, options] = await started({ OSTLER_DEADLINES: '{"drain": "5m"}' });
  deepEqual(options.args, [{ namespace: "fleet", name: "pool", deadlines: { drain: "5m" } }]);
});

Deno.test("startRollout starts the rollout of a named cluster under its name, on its queue", async () => {
  const [, options] = await started({ OSTLER_CLUSTER: "north" });
  deepEqual([options.workflowId, options.taskQueue], ["north/machine-deployment/fleet/pool", "ostler-north"]);
  deepEqual(options.args, [{ cluster: "north", namespace: "fleet", name: "pool" }]);
});

Deno.test("startRollout ends the pool's run of before the cluster had its name, and no other", async () => {
  const ended: unknown[] = [];
  const runOf = (workflowId: string): { workflowId: string; runId: string } => ({ workflowId, runId: "run-1" });
  await started({ OSTLER_CLUSTER: "north" }, runOf("machine-deployment/fleet/pool"), ended);
  await started({ OSTLER_CLUSTER: "north" }, runOf("south/machine-deployment/fleet/pool"), ended);
  deepEqual(ended, [["machine-deployment/fleet/pool", "run-1"], ["south/machine-deployment/fleet/pool", "run-1"]]);
  ended.length = 0;
  await started({ OSTLER_CLUSTER: "north" }, runOf("north/machine-deployment/fleet/pool"), ended);
  await started({ OSTLER_CLUSTER: "north" }, runOf("machine-deployment/fleet/other-pool"), ended);
  await started({}, runOf("machine-deployment/fleet/pool"), ended);
  deepEqual(ended, []);
});
