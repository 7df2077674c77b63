import type { KubeConfig } from "@kubernetes/client-node";
import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError } from "@temporalio/client";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { Claim, ClusterConflict } from "../../../workers/claim.ts";
import { type ClusterIdentity, readClusterIdentity } from "../../../workers/cluster_identity.ts";
import { readConfig } from "../../../workers/config.ts";
import { answer } from "../../support/fake_kube.ts";

interface Made {
  scheduleId: string;
  action: { workflowType: string; taskQueue: string; memo?: Record<string, unknown> };
}

/** A fake of the part of a Temporal server that stores Schedules. */
class Schedules {
  readonly made: Made[] = [];
  /** Requests since the last reset. */
  readonly requests: string[] = [];

  get client(): Client {
    const schedule = {
      list: () => this.#list(),
      create: (made: Made) => this.#answer("create", () => this.#create(made)),
      getHandle: (id: string) => ({
        describe: () => this.#answer("describe", () => this.#described(id)),
        update: (change: (found: object) => object) =>
          this.#answer("update", () => void Object.assign(this.#found(id), change(this.#described(id)))),
      }),
    };
    return { schedule } as unknown as Client;
  }

  async *#list(): AsyncIterable<Made> {
    await this.#answer("list", () => {});
    yield* [...this.made];
  }

  async #answer<T>(request: string, act: () => T): Promise<T> {
    await Promise.resolve();
    this.requests.push(request);
    return act();
  }

  #create(made: Made): void {
    const { scheduleId: id } = made;
    if (this.made.some(({ scheduleId }) => scheduleId === id)) throw new ScheduleAlreadyRunning("it exists", id);
    this.made.push(made);
  }

  #described(id: string): object {
    const found = this.#found(id);
    return { ...found, state: {}, info: { createdAt: new Date(this.made.indexOf(found)) } };
  }

  #found(id: string): Made {
    const found = this.made.find(({ scheduleId }) => scheduleId === id);
    if (!found) throw new ScheduleNotFoundError("no such Schedule", id);
    return found;
  }
}

function named(name: string): ClusterIdentity {
  return { name, uid: `uid-${name}` };
}

function claimOf(name: string, taskQueue?: string): Claim {
  const config = readConfig({ OSTLER_CLUSTER: name, ...(taskQueue ? { OSTLER_TASK_QUEUE: taskQueue } : {}) });
  return new Claim(config, { confirmMs: 5 });
}

/** Awaits claims that are made at the same time; returns "served" or the name of the error for each. */
async function atOnce(...claims: Promise<void>[]): Promise<string[]> {
  const ended = await Promise.allSettled(claims);
  return ended.map((each) => each.status === "fulfilled" ? "served" : (each.reason as Error).name).sort();
}

Deno.test("Claim.hold: reads only the Schedule of its own cluster once it holds the claim, however many clusters exist", async () => {
  const schedules = new Schedules();
  for (let nth = 0; nth < 200; nth++) await claimOf(`c${nth}`).hold(schedules.client, named(`c${nth}`));
  const claim = claimOf("c7");
  for (let nth = 0; nth < 2; nth++) await claim.hold(schedules.client, named("c7"));
  schedules.requests.length = 0;
  await claim.hold(schedules.client, named("c7"));
  deepEqual(schedules.requests, ["describe"]);
});

Deno.test("Claim.hold: refuses the younger of two concurrent claims of a task queue at the next check", async () => {
  const schedules = new Schedules();
  const [north, south] = [claimOf("north", "shared"), claimOf("south", "shared")];
  const blind = new Schedules();
  await north.hold(blind.client, named("north"));
  await south.hold(schedules.client, named("south"));
  schedules.made.unshift(...blind.made);
  await north.hold(schedules.client, named("north"));
  await rejects(south.hold(schedules.client, named("south")), ClusterConflict);
});

Deno.test("Claim.hold: refuses a cluster that moves to the task queue of a younger cluster", async () => {
  const schedules = new Schedules();
  await claimOf("north").hold(schedules.client, named("north"));
  const south = claimOf("south", "shared");
  for (let nth = 0; nth < 3; nth++) await south.hold(schedules.client, named("south"));
  await rejects(claimOf("north", "shared").hold(schedules.client, named("north")), ClusterConflict);
  await south.hold(schedules.client, named("south"));
});

Deno.test("Claim.hold: refuses a process that cannot prove the cluster identity in the claim", async () => {
  const schedules = new Schedules();
  await claimOf("north").hold(schedules.client, named("north"));
  await rejects(claimOf("north").hold(schedules.client, { name: "north", uid: "" }), {
    name: "ClusterConflict",
    message: /without a proven identity.*allow the service account of this process to get namespace "kube-system"/,
  });
});

Deno.test("readClusterIdentity: keeps the UID that it has read when the permission is removed", async () => {
  let isAllowed = false;
  const readNamespace = (): Promise<object> =>
    isAllowed ? Promise.resolve({ metadata: { uid: "uid-north" } }) : Promise.reject(answer(403, "Forbidden"));
  const kubeConfig = { makeApiClient: () => ({ readNamespace }) } as unknown as KubeConfig;
  const told: string[] = [];
  const read = async (): Promise<string> =>
    (await readClusterIdentity(kubeConfig, { cluster: "" }, { warn: (line) => void told.push(line) })).uid;
  equal(await read(), "");
  equal(told.length, 1);
  isAllowed = true;
  equal(await read(), "uid-north");
  isAllowed = false;
  equal(await read(), "uid-north");
  equal(told.length, 1);
});

Deno.test("fault E6: of two clusters with the same name that start together, one is refused immediately", async () => {
  const schedules = new Schedules();
  const [one, other] = [claimOf("north"), claimOf("north")];
  const outcomes = await atOnce(
    one.hold(schedules.client, { name: "north", uid: "uid-1" }),
    other.hold(schedules.client, { name: "north", uid: "uid-2" }),
  );
  deepEqual(outcomes, ["ClusterConflict", "served"]);
});

Deno.test("fault E6: of two clusters on the same task queue that start together, one is refused immediately", async () => {
  const schedules = new Schedules();
  const outcomes = await atOnce(
    claimOf("north", "shared").hold(schedules.client, named("north")),
    claimOf("south", "shared").hold(schedules.client, named("south")),
  );
  deepEqual(outcomes, ["ClusterConflict", "served"]);
});

Deno.test("fault E6: of two clusters that take over the same Schedule, which records no UID, one is refused immediately", async () => {
  const schedules = new Schedules();
  await claimOf("north").hold(schedules.client, { name: "north", uid: "" });
  const outcomes = await atOnce(
    claimOf("north").hold(schedules.client, { name: "north", uid: "uid-1" }),
    claimOf("north").hold(schedules.client, { name: "north", uid: "uid-2" }),
  );
  deepEqual(outcomes, ["ClusterConflict", "served"]);
});
