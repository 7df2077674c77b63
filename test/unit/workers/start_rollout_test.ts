import { type Client, ScheduleNotFoundError } from "@temporalio/client";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";
import { scheduleIdOf } from "../../../workers/credential_schedule.ts";
import { startRollout } from "../../../workers/start_rollout.ts";

type Options = Parameters<Client["workflow"]["signalWithStart"]>[1];

interface Temporal {
  run?: { workflowId: string; runId: string };
  /** By the name of a cluster, the cluster UID that its Schedule records. */
  owners?: Record<string, string>;
  status?: string;
  /** The status of the run that the Rollout names, if that run is not the last one. */
  ofReported?: string;
  /** Seconds since a worker last polled the task queue of the run; undefined if none polls it. */
  polled?: number;
  ended?: unknown[];
  isRepeat?: true;
}

async function started(
  environment: Record<string, string>,
  { run, owners = {}, status = "RUNNING", ofReported = status, polled, ended = [], isRepeat }: Temporal = {},
): Promise<[unknown, Options]> {
  const calls: [unknown, Options][] = [];
  const signalWithStart = (...call: [unknown, Options]): Promise<object> => {
    calls.push(call);
    return Promise.resolve({ signaledRunId: "run-9" });
  };
  const getHandle = (...which: string[]): unknown => ({
    describe: () => Promise.resolve({ status: { name: which[1] ? ofReported : status }, taskQueue: "its-queue" }),
    terminate: () => Promise.resolve(void ended.push(which)),
  });
  const schedules = new Map(Object.entries(owners).map(([cluster, uid]) => [scheduleIdOf({ cluster }), uid]));
  const describe = (scheduleId: string): Promise<object> => {
    const uid = schedules.get(scheduleId);
    if (uid === undefined) return Promise.reject(new ScheduleNotFoundError("none", scheduleId));
    const action = { taskQueue: "its-queue", memo: { cluster: { uid, name: "" } } };
    return Promise.resolve({ scheduleId, action, info: { createdAt: new Date() } });
  };
  const seconds = Math.floor(Date.now() / 1000) - (polled ?? 0);
  const pollers = polled === undefined ? [] : [{ lastAccessTime: { seconds } }];
  const client = {
    workflow: { signalWithStart, getHandle },
    schedule: { getHandle: (scheduleId: string) => ({ describe: () => describe(scheduleId) }) },
    workflowService: { describeTaskQueue: () => Promise.resolve({ pollers }) },
  } as unknown as Client;
  const config = readConfig(environment);
  const news = { pool: { namespace: "fleet", name: "pool" }, generation: 7, ...(run ? { run } : {}) };
  const repeat = isRepeat ? { isRepeat } : {};
  await startRollout({ client, config, self: { name: config.cluster, uid: "own" } }, { ...news, ...repeat });
  equal(calls.length, 1);
  return calls[0] as [unknown, Options];
}

Deno.test("startRollout: starts the only workflow of the pool, or signals it if it runs", async () => {
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

Deno.test("fault E4: startRollout: after a cancelled run, starts a run that only publishes the config, until the desired state changes", async () => {
  const pool = { namespace: "fleet", name: "pool" };
  const [, repeated] = await started({}, { isRepeat: true, status: "CANCELLED" });
  deepEqual(repeated.args, [{ ...pool, publishOnly: true }]);
  const [, terminated] = await started({}, { isRepeat: true, status: "TERMINATED" });
  deepEqual(terminated.args, [pool]);
  const [, changed] = await started({}, { status: "CANCELLED" });
  deepEqual(changed.args, [pool]);
});

Deno.test("startRollout: passes on the deadlines that an administrator set", async () => {
  const [, options] = await started({ OSTLER_DEADLINES: '{"drain": "5m"}' });
  deepEqual(options.args, [{ namespace: "fleet", name: "pool", deadlines: { drain: "5m" } }]);
});

Deno.test("startRollout: starts the rollout of a named cluster under its name, on its queue", async () => {
  const [, options] = await started({ OSTLER_CLUSTER: "north" });
  deepEqual([options.workflowId, options.taskQueue], ["north/machine-deployment/fleet/pool", "ostler-north"]);
  deepEqual(options.args, [{ cluster: "north", namespace: "fleet", name: "pool" }]);
});

const north = { OSTLER_CLUSTER: "north" };

function runOf(workflowId: string): { workflowId: string; runId: string } {
  return { workflowId, runId: "run-1" };
}

Deno.test("startRollout: ends the pool's run of the same cluster under a previous name, and no other run", async () => {
  const ended: unknown[] = [];
  const temporal = { owners: { "": "own", south: "own" }, ended };
  await started(north, { ...temporal, run: runOf("machine-deployment/fleet/pool") });
  await started(north, { ...temporal, run: runOf("south/machine-deployment/fleet/pool"), polled: 120 });
  deepEqual(ended, [["machine-deployment/fleet/pool"], ["south/machine-deployment/fleet/pool"]]);
  ended.length = 0;
  await started(north, { ...temporal, run: runOf("north/machine-deployment/fleet/pool") });
  await started(north, { ...temporal, run: runOf("machine-deployment/fleet/other-pool") });
  await started(north, { ...temporal, run: runOf("machine-deployment/fleet/pool"), status: "COMPLETED" });
  await started({}, { ...temporal, run: runOf("machine-deployment/fleet/pool") });
  deepEqual(ended, []);
});

Deno.test("startRollout: ends the last run under a previous name if the reported run has continued as new", async () => {
  const ended: unknown[] = [];
  const run = runOf("machine-deployment/fleet/pool");
  await started(north, { owners: { "": "own" }, run, ofReported: "CONTINUED_AS_NEW", ended });
  deepEqual(ended, [["machine-deployment/fleet/pool"]]);
});

Deno.test("startRollout: ends the run under a previous name on this cluster's own queue, which its own workers serve", async () => {
  const ended: unknown[] = [];
  const run = runOf("machine-deployment/fleet/pool");
  const environment = { ...north, OSTLER_TASK_QUEUE: "its-queue" };
  await started(environment, { owners: { "": "own" }, run, polled: 20, ended });
  deepEqual(ended, [["machine-deployment/fleet/pool"]]);
});

Deno.test("fault E7: a Rollout that names the run of another cluster ends no run", async () => {
  const ended: unknown[] = [];
  await started(north, { run: runOf("south/machine-deployment/fleet/pool"), owners: { south: "another" }, ended });
  await started(north, { run: runOf("south/machine-deployment/fleet/pool"), owners: {}, ended });
  deepEqual(ended, []);
});

Deno.test("fault E7: a copy of a cluster starts no rollout while the original's workers serve the run", async () => {
  const ended: unknown[] = [];
  const run = runOf("south/machine-deployment/fleet/pool");
  await rejects(started(north, { run, owners: { south: "own" }, polled: 20, ended }), {
    message: 'Failed to roll out a pool of cluster "north" (UID of kube-system "own"): workers still serve run ' +
      '"south/machine-deployment/fleet/pool" on task queue "its-queue"; stop the workers with the previous name; in a ' +
      "copy of a cluster, delete the Rollouts",
  });
  deepEqual(ended, []);
});
