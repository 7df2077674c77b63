import { deepEqual, equal, match } from "node:assert/strict";
import type { Client, ScheduleOptions } from "@temporalio/client";
import { ScheduleAlreadyRunning, ScheduleNotFoundError } from "@temporalio/client";
import { readConfig } from "../../../workers/config.ts";
import { ensureCredentialSchedule, keepCredentialSchedule } from "../../../workers/credential_schedule.ts";
import { keepDiscoverySchedule } from "../../../workers/discovery_schedule.ts";
import { eventually } from "../../support/eventually.ts";

type Update = (previous: { state: object; action: object }) => { state: object; spec: object };

const self = { name: "", uid: "uid-1" };

/** A fake of Temporal's API for Schedules, as far as these tests need it. */
class FakeSchedules {
  readonly calls: string[] = [];
  made: ScheduleOptions | undefined;
  /** Whether the Schedule from before the cluster had a name exists. */
  hasPlain = false;
  /** Whether a worker polls the task queue of that Schedule. */
  isServed = false;
  state: object = { paused: false };
  updated: { state: object } | undefined;

  get client(): Client {
    const create = (options: ScheduleOptions): Promise<void> => {
      this.calls.push("create");
      if (this.made) return Promise.reject(new ScheduleAlreadyRunning("there is one", options.scheduleId));
      this.made = options;
      return Promise.resolve();
    };
    const update = (change: Update): Promise<void> => {
      this.calls.push("update");
      this.updated = change({ state: this.state, action: { memo: { cluster: self } } });
      return Promise.resolve();
    };
    const describe = (id: string): Promise<object> =>
      id === "renew-credentials" && this.hasPlain
        ? Promise.resolve({ action: { memo: { cluster: self }, taskQueue: "ostler" } })
        : Promise.reject(new ScheduleNotFoundError("none", id));
    const remove = (): Promise<void> => Promise.resolve(void (this.hasPlain = false));
    const getHandle = (id: string): object => ({ update, describe: () => describe(id), delete: remove });
    const pollers = (): object[] => this.isServed ? [{ lastAccessTime: { seconds: Date.now() / 1000 } }] : [];
    const workflowService = { describeTaskQueue: () => Promise.resolve({ pollers: pollers() }) };
    return { schedule: { create, getHandle }, workflowService } as unknown as Client;
  }
}

Deno.test("ensureCredentialSchedule: creates a missing Schedule with a note about its purpose", async () => {
  const schedules = new FakeSchedules();
  await ensureCredentialSchedule(schedules.client, { config: readConfig({ OSTLER_TASK_QUEUE: "queue" }), self });
  deepEqual(schedules.calls, ["create"]);
  const { spec, action, policies, memo, state } = schedules.made ?? {};
  deepEqual([spec, policies], [
    { intervals: [{ every: 3_600_000 }] },
    { overlap: "SKIP", catchupWindow: 3_600_000 },
  ]);
  deepEqual([action?.workflowType, action?.taskQueue, action?.args], ["renewCredentials", "queue", [{}]]);
  match(String(memo?.["purpose"]), /Renews the credentials/);
  equal(state?.note, memo?.["purpose"]);
});

Deno.test("Schedules: bound each run, because an open run without workers would prevent all later runs", async () => {
  const schedules = new FakeSchedules();
  await ensureCredentialSchedule(schedules.client, { config: readConfig({}), self });
  equal(schedules.made?.action.workflowExecutionTimeout, 3_300_000);
  const brief = new FakeSchedules();
  await ensureCredentialSchedule(brief.client, { config: readConfig({ OSTLER_CREDENTIAL_SECONDS: "600" }), self });
  equal(brief.made?.action.workflowExecutionTimeout, 600_000, "Expected enough time for slow API servers");
  const discovery = new FakeSchedules();
  const stop = new AbortController();
  const keeping = keepDiscoverySchedule(readConfig({ OSTLER_CLOUD: "simulated", OSTLER_CLOUD_PLACE: "http://cloud" }), {
    ...{ connect: () => Promise.resolve(discovery.client), log: { info: () => {}, warn: () => {} } },
    signal: stop.signal,
  });
  await eventually("the Schedule", () => discovery.made !== undefined);
  stop.abort();
  await keeping;
  equal(discovery.made?.action.workflowExecutionTimeout, 600_000);
});

Deno.test("ensureCredentialSchedule: updates an existing Schedule, but does not resume a Schedule that a person paused", async () => {
  const schedules = new FakeSchedules();
  await ensureCredentialSchedule(schedules.client, { config: readConfig({}), self });
  await ensureCredentialSchedule(schedules.client, { config: readConfig({}), self });
  match(JSON.stringify(schedules.updated), /"note":"Renews/);
  schedules.state = { paused: true, note: "incident 12" };
  await ensureCredentialSchedule(schedules.client, { config: readConfig({}), self });
  deepEqual(schedules.updated?.state, schedules.state);
  deepEqual(schedules.calls, ["create", "create", "update", "create", "update"]);
});

Deno.test("keepCredentialSchedule: survives a Temporal outage, and recreates a deleted Schedule", async () => {
  const schedules = new FakeSchedules();
  const stop = new AbortController();
  const warnings: string[] = [];
  let absences = 3;
  const keeping = keepCredentialSchedule(readConfig({}), {
    connect: () => absences-- > 0 ? Promise.reject(new Error("Temporal is down")) : Promise.resolve(schedules.client),
    log: { info: () => {}, warn: (message) => void warnings.push(message) },
    signal: stop.signal,
    self,
    pauses: { standing: 5, failed: 1 },
  });
  await eventually("the Schedule", () => schedules.made !== undefined);
  equal(warnings.length, 3);
  schedules.made = undefined;
  await eventually("the Schedule again", () => schedules.made !== undefined);
  stop.abort();
  await keeping;
  equal(schedules.calls.includes("update"), false, "Expected no write, because nothing changed");
});

Deno.test("ensureCredentialSchedule: keeps the owner that the Schedule records when the process does not know its cluster", async () => {
  const schedules = new FakeSchedules();
  const order = { config: readConfig({}), self: { name: "", uid: "" } };
  await ensureCredentialSchedule(schedules.client, order);
  await ensureCredentialSchedule(schedules.client, order);
  const { action } = schedules.updated as { action?: { memo?: object } };
  deepEqual(action?.memo, { cluster: self });
});

Deno.test("keepCredentialSchedule: keeps the Schedule from before the cluster had a name until no run from then is open", async () => {
  const schedules = new FakeSchedules();
  schedules.hasPlain = true;
  let isOpen = true;
  const stop = new AbortController();
  const keeping = keepCredentialSchedule(readConfig({ OSTLER_CLUSTER: "north" }), {
    ...{ connect: () => Promise.resolve(schedules.client), log: { info: () => {}, warn: () => {} }, self },
    ...{ signal: stop.signal, hasUnnamedRuns: () => isOpen, pauses: { standing: 1, failed: 1 } },
  });
  await eventually("several checks", () => schedules.calls.filter((call) => call === "create").length > 3);
  equal(schedules.hasPlain, true, "Expected the proof that the runs are of this cluster");
  isOpen = false;
  await eventually("its deletion", () => !schedules.hasPlain);
  stop.abort();
  await keeping;
});

Deno.test("ensureCredentialSchedule: keeps the Schedule from before the cluster had a name while workers serve its queue", async () => {
  const schedules = new FakeSchedules();
  schedules.hasPlain = schedules.isServed = true;
  const order = { config: readConfig({ OSTLER_CLUSTER: "north" }), self };
  await ensureCredentialSchedule(schedules.client, order);
  equal(schedules.hasPlain, true);
  schedules.isServed = false;
  await ensureCredentialSchedule(schedules.client, order);
  equal(schedules.hasPlain, false);
  schedules.hasPlain = schedules.isServed = true;
  const config = readConfig({ OSTLER_CLUSTER: "north", OSTLER_TASK_QUEUE: "ostler" });
  await ensureCredentialSchedule(schedules.client, { config, self });
  equal(schedules.hasPlain, false, "Expected the same queue to be served by this cluster's own workers");
});
