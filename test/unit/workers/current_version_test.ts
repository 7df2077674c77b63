import { deepEqual, equal, match } from "node:assert/strict";
import type { Client } from "@temporalio/client";
import { readConfig } from "../../../workers/config.ts";
import { deploymentNameOf, ensureVersionCurrent, keepVersionCurrent } from "../../../workers/current_version.ts";
import { eventually } from "../../support/eventually.ts";

/** A fake Temporal; `polled` has the builds that poll each task queue, by "name/type" of the queue. */
class FakeVersions {
  current = "v1";
  /** Epoch ms at which the current version was set. */
  changedAt = 0;
  readonly orders: Record<string, unknown>[] = [];
  polled: Record<string, string[]> = {};

  poll(build: string, queues = ["ostler/1", "ostler/2", "ostler-waits/2"]): void {
    for (const queue of queues) this.polled[queue] = [...this.polled[queue] ?? [], build];
  }

  get client(): Client {
    const token = new Uint8Array([1]);
    const workflowService = {
      describeTaskQueue: ({ taskQueue, taskQueueType }: { taskQueue: { name: string }; taskQueueType: number }) => {
        const builds = this.polled[`${taskQueue.name}/${taskQueueType}`] ?? [];
        return Promise.resolve({ pollers: builds.map((buildId) => ({ deploymentOptions: { buildId } })) });
      },
      describeWorkerDeployment: () => {
        const currentVersionChangedTime = { seconds: Math.floor(this.changedAt / 1000) };
        const routingConfig = { currentDeploymentVersion: { buildId: this.current }, currentVersionChangedTime };
        return Promise.resolve({ workerDeploymentInfo: { routingConfig }, conflictToken: token });
      },
      setWorkerDeploymentCurrentVersion: (order: { buildId: string }) => {
        this.orders.push(order);
        this.current = order.buildId;
        return Promise.resolve({});
      },
    };
    return { workflowService, options: { identity: "controller-1" } } as unknown as Client;
  }
}

const v2 = readConfig({ OSTLER_BUILD_ID: "v2" });

Deno.test("ensureVersionCurrent: makes a version current as soon as its workers poll every queue, with only one request", async () => {
  const versions = new FakeVersions();
  versions.poll("v1");
  versions.poll("v2", ["ostler/1", "ostler/2"]);
  equal(
    await ensureVersionCurrent(versions.client, v2),
    "NoWorkers",
    'Expected no change while no worker of "v2" polls queue "ostler-waits"',
  );
  versions.poll("v2", ["ostler-waits/2"]);
  equal(await ensureVersionCurrent(versions.client, v2), "MadeCurrent");
  equal(await ensureVersionCurrent(versions.client, v2), "Current");
  deepEqual(versions.orders, [{
    ...{ namespace: "default", deploymentName: "ostler", buildId: "v2", identity: "controller-1" },
    conflictToken: new Uint8Array([1]),
  }]);
});

Deno.test("ensureVersionCurrent: does not make a version current that no worker polls for", async () => {
  const versions = new FakeVersions();
  versions.current = "v3";
  versions.poll("v3");
  equal(await ensureVersionCurrent(versions.client, v2), "NoWorkers");
  deepEqual(versions.orders, []);
});

Deno.test("keepVersionCurrent: waits for workers, logs that once, and reverts changes by others", async () => {
  const versions = new FakeVersions();
  const stop = new AbortController();
  const said: string[] = [];
  let absences = 2;
  const keeping = keepVersionCurrent(v2, {
    connect: () => absences-- > 0 ? Promise.reject(new Error("Temporal is down")) : Promise.resolve(versions.client),
    log: { info: (text) => void said.push(text), warn: (text) => void said.push(text) },
    signal: stop.signal,
    pauses: { current: 1, waiting: 1 },
  });
  await eventually("a warning", () => said.length === 3);
  match(said.join(), /retrying.*retrying.*workers of this controller's version do not poll/);
  versions.poll("v2");
  await eventually("v2", () => versions.current === "v2");
  versions.current = "v1";
  await eventually("v2 again", () => versions.current === "v2");
  stop.abort();
  await keeping;
  equal(said.filter((text) => /do not poll/.test(text)).length, 1);
});

Deno.test("fault E14 keepVersionCurrent: an older standby that takes the lead does not undo an update", async () => {
  const versions = new FakeVersions();
  const startedAt = Date.now() - 60_000;
  Object.assign(versions, { current: "v3", changedAt: Date.now() });
  versions.poll("v2");
  versions.poll("v3");
  equal(await ensureVersionCurrent(versions.client, v2, startedAt), "Superseded");
  const stop = new AbortController();
  const said: string[] = [];
  const keeping = keepVersionCurrent(v2, {
    connect: () => Promise.resolve(versions.client),
    log: { info: (text) => void said.push(text), warn: (text) => void said.push(text) },
    ...{ signal: stop.signal, startedAt, pauses: { current: 1, waiting: 1 } },
  });
  await eventually("a warning", () => said.length === 1);
  match(said.join(), /another controller set it since this process started/);
  deepEqual(versions.orders, []);
  // The update was undone, so only workers of "v2" poll: this process must make "v2" current again.
  versions.polled = {};
  versions.poll("v2");
  await eventually("v2", () => versions.current === "v2");
  stop.abort();
  await keeping;
});

Deno.test("fault E14 ensureVersionCurrent: replaces a version that became current before this process started", async () => {
  const versions = new FakeVersions();
  versions.changedAt = Date.now() - 60_000;
  versions.poll("v1");
  versions.poll("v2");
  equal(await ensureVersionCurrent(versions.client, v2, Date.now()), "MadeCurrent");
});

Deno.test("keepVersionCurrent: does nothing without a build ID", async () => {
  const never = (): never => {
    throw new Error("asked");
  };
  await keepVersionCurrent(readConfig({}), {
    connect: never,
    log: { info: never, warn: never },
    signal: new AbortController().signal,
  });
});

Deno.test("worker deployment: is named after its cluster by default", () => {
  deepEqual(
    [{}, { OSTLER_CLUSTER: "north" }, { OSTLER_DEPLOYMENT: "mine" }].map((env) => deploymentNameOf(readConfig(env))),
    ["ostler", "ostler-north", "mine"],
  );
});
