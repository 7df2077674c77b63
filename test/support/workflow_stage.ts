/**
 * A Temporal server in memory, with workers that run the real workflow bundle and fake activities. All test files that
 * run in one process share the server and its workers.
 */
import { Client, WorkflowNotFoundError } from "@temporalio/client";
import type { WorkflowHandle } from "@temporalio/client";
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
} from "@temporalio/worker";
import type { WorkflowBundleOption } from "@temporalio/worker";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { workflowBundle } from "../../deploy/local/site/workflow_bundle.ts";
import { startOnFreePorts } from "../../deploy/local/process/start_on_free_ports.ts";
import { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { NotYet } from "../../deploy/local/process/wait_until.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import type { Deadlines, Phase, Progress, RollOutInput, RollOutResult } from "../../workflows/contracts/mod.ts";
import type { Answer, Command } from "../../workflows/commands/messages.ts";
import { columnsOf, waitsQueueOf } from "../../workflows/commands/start_options.ts";
import { patchesOf, versionOf } from "../../workers/worker_options.ts";
import { ensureSearchAttributes } from "../../activities/temporal/search_attributes.ts";
import { eventually } from "./eventually.ts";
import { FakeActivities } from "./fake_activities.ts";
import { FakePool } from "./fake_pool.ts";
import type { FakePoolOptions } from "./fake_pool.ts";

/** Short enough that a broken test ends soon, long enough for a slow machine. */
export const testDeadlines: Partial<Deadlines> = {
  ...{ settle: 10_000, instance: 10_000, address: 10_000, registered: 10_000, ready: 10_000 },
  ...{ drain: 10_000, gone: 10_000, recheck: 200 },
};

/** Whether the SDK's runtime is configured, which a process can do only once. */
let isQuiet = false;

/** The identity of client and worker, so that recorded histories contain no host name. */
const identity = "tester";

export interface StageOptions {
  /**
   * Maximum number of concurrent activities of the worker for short steps, and of the worker for waits; by default 100
   * for each worker.
   */
  slots?: { steps: number; waits: number };
  /** 0 makes the worker replay the whole history at every workflow task. */
  maxCachedWorkflows?: number;
  /** Dynamic configuration of the server as "key=value". */
  dynamicConfig?: string[];
}

/** The version of a worker; by default the current code without a build ID. */
export interface StageVersion {
  buildId?: string;
  /** Whether the worker runs the workflows of a future version: see `next_version.ts`. */
  next?: boolean;
  /** Whether the worker does not activate new workflow patches, as with the setting `hold-patches`. */
  holdPatches?: boolean;
  /** Connection of the worker; by default that of the stage. */
  connection?: NativeConnection;
}

export type Handle = Omit<WorkflowHandle, "result"> & { result(): Promise<RollOutResult> };

export class Stage {
  readonly activities = new FakeActivities();
  readonly #options: StageOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), "ostler-workflow-test-"));
  readonly #supervisor = new Supervisor({ directory: this.#directory });
  #address = "";
  #native: NativeConnection | undefined;
  readonly #bundles = new Map<boolean, Promise<WorkflowBundleOption>>();
  #workers: { worker: Worker; done: Promise<void> }[] = [];
  readonly #lost = Promise.withResolvers<never>();
  #pools = 0;
  #opening: Promise<void> | undefined;
  /** The pools for which workflows may still be running. */
  #left: FakePool[] = [];

  constructor(options: StageOptions = {}) {
    this.#options = options;
    this.#lost.promise.catch(() => {});
  }

  /**
   * Rejects when a worker ends by itself, for example after SIGTERM to this process, because a story would then wait in
   * vain.
   */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  /** Address of the server, as "host:port". */
  get address(): string {
    return this.#address;
  }

  get client(): Client {
    if (!this.#native) throw new Error("Failed to use the client: the stage was not opened");
    return new Client({ connection: this.#native });
  }

  /** Starts the Temporal server and the workers; a second call does not start them again. */
  open(): Promise<void> {
    return this.#opening ??= this.#open();
  }

  async #open(): Promise<void> {
    isQuiet ||= Boolean(Runtime.install({
      logger: new DefaultLogger("ERROR"),
      telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: "ERROR" }) } },
    }));
    this.#address = await this.#startServer();
    this.#native = await NativeConnection.connect({ address: this.#address });
    // Registers the search attributes, including the one that Ostler uses only for a cluster with a name.
    await ensureSearchAttributes(this.#native, { namespace: "default", columns: columnsOf("any") });
    await this.startWorker();
  }

  async close(): Promise<void> {
    // Closes everything even if one step fails: an open connection can crash the process before the test reports its
    // failure.
    await using ending = new AsyncDisposableStack();
    ending.defer(() => rmSync(this.#directory, { recursive: true }));
    ending.defer(() => this.#supervisor.stop());
    ending.defer(() => this.#native?.close());
    await this.stopWorker();
  }

  /** Starts a worker for workflows and short steps, and one for waits, in addition to the workers that already run. */
  async startWorker(version: StageVersion = {}): Promise<Worker[]> {
    const { buildId = "", next = false, holdPatches = false, connection = this.#native } = version;
    const { maxCachedWorkflows = 100, slots = { steps: 100, waits: 100 } } = this.#options;
    const common = {
      connection: connection as NativeConnection,
      activities: this.activities.all(),
      identity,
      maxHeartbeatThrottleInterval: 50,
      defaultHeartbeatThrottleInterval: 50,
      shutdownGraceTime: 1,
      // Limits how long the shutdown of a worker waits for a step that ignores its cancellation, so that this fails the
      // story that stops the worker, and not a later story.
      shutdownForceTime: 30_000,
      ...versionOf({ buildId, deployment: "", cluster: "" }),
    };
    const workers = [
      await Worker.create({
        ...common,
        workflowBundle: await this.#bundleOf(next),
        ...patchesOf({ holdPatches }),
        taskQueue: "ostler",
        maxCachedWorkflows,
        maxConcurrentActivityTaskExecutions: slots.steps,
        stickyQueueScheduleToStartTimeout: "1s",
      }),
      await Worker.create({
        ...common,
        taskQueue: waitsQueueOf("ostler"),
        maxConcurrentActivityTaskExecutions: slots.waits,
      }),
    ];
    for (const worker of workers) this.#run(worker);
    return workers;
  }

  #run(worker: Worker): void {
    const running = { worker, done: worker.run() };
    this.#workers.push(running);
    const lose = (cause?: unknown): void => {
      if (this.#workers.includes(running)) {
        this.#lost.reject(new Error("Failed to run the story: a Temporal worker ended by itself", { cause }));
      }
    };
    running.done.then(() => lose(), lose);
  }

  #bundleOf(next: boolean): Promise<WorkflowBundleOption> {
    const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
    const bundled = (): Promise<WorkflowBundleOption> =>
      bundleWorkflowCode({
        workflowsPath: path("../../workflows/mod.ts"),
        ...(next ? { workflowInterceptorModules: [path("next_version.ts")] } : {}),
        logger: new DefaultLogger("ERROR"),
      });
    const bundle = this.#bundles.get(next) ?? (next ? bundled() : keptOr(bundled));
    this.#bundles.set(next, bundle);
    return bundle;
  }

  /** Starts workers of another version, and ends the previous ones when `meanwhile` is done. */
  async changeWorker(version: StageVersion, meanwhile: () => Promise<void>): Promise<void> {
    const old = this.#workers.splice(0);
    try {
      await this.startWorker(version);
      await meanwhile();
    } finally {
      for (const { worker } of old) worker.shutdown();
      await Promise.all(old.map(({ done }) => done));
    }
  }

  /** Shuts the workers down and waits until they have ended; running activities are cancelled. */
  async stopWorker(): Promise<void> {
    const ending = this.#workers.splice(0);
    for (const { worker } of ending) worker.shutdown();
    try {
      await Promise.all(ending.map(({ done }) => done));
    } catch (cause) {
      const left = [...this.activities.running.values()].join(", ");
      throw new Error(`Failed to stop the workers: these activities have not ended: ${left || "none"}`, { cause });
    }
  }

  /** Returns a new pool for which no workflow was started. */
  pool(options: FakePoolOptions = {}): FakePool {
    this.#pools += 1;
    const pool = new FakePool({ namespace: "fleet", name: `pool${this.#pools}` }, options);
    this.#left.push(pool);
    return this.activities.add(pool);
  }

  /**
   * Terminates every workflow run that a story has left open, because such runs poll and would slow down the next
   * stories.
   */
  async clear(): Promise<void> {
    const left = this.#left.splice(0).map(({ holder }) => holder);
    for await (const { workflowId } of this.client.workflow.list({ query: `ExecutionStatus = "Running"` })) {
      left.push(workflowId);
    }
    const handles = [...new Set(left)].map((id) => this.client.workflow.getHandle(id));
    await Promise.allSettled(handles.map((handle) => handle.terminate("its story is over")));
  }

  /**
   * Returns a pool that has converged once with the default rules, without the calls, reports and Events of that
   * rollout. `rules` apply only after that.
   */
  async grownPool({ rules, ...options }: FakePoolOptions = {}): Promise<FakePool> {
    const pool = this.pool(options);
    await (await this.rollOut(pool)).result();
    for (const record of [pool.calls, pool.reports, pool.events]) record.length = 0;
    Object.assign(pool.rules, rules);
    return pool;
  }

  /** Starts a rollout as the controller does. */
  async rollOut(pool: FakePool, input: Partial<RollOutInput> = {}): Promise<Handle> {
    return await this.client.workflow.signalWithStart("rollOutMachineDeployment", {
      workflowId: pool.holder,
      taskQueue: "ostler",
      args: [{ ...pool.ref, deadlines: testDeadlines, ...input }],
      signal: "desiredChanged",
      signalArgs: [{ generation: pool.generation }],
    }) as Handle;
  }

  async progress(handle: Handle): Promise<Progress> {
    return await handle.query<Progress>("progress");
  }

  /** Sends a command to a rollout, as people do; returns its answer or throws its refusal. */
  async ask(pool: FakePool, command: string, asked: Command = { by: "somebody" }): Promise<Answer> {
    const handle = this.client.workflow.getHandle(pool.holder);
    return await handle.executeUpdate<Answer, [Command]>(command, { args: [asked] });
  }

  /**
   * Waits until the answer to the query `progress` matches; queries by workflow ID, so a later run of the chain may
   * answer.
   */
  async sees(pool: FakePool, what: string, look: (seen: Progress) => boolean): Promise<Progress> {
    const handle = this.client.workflow.getHandle(pool.holder);
    return await seen(what, () => handle.query<Progress>("progress"), look);
  }

  /** Signals a running rollout that something changed, as the controller does. */
  async tell(pool: FakePool): Promise<void> {
    await this.client.workflow.getHandle(pool.holder).signal("desiredChanged", { generation: pool.generation });
  }

  /** Waits until the rollout has this phase and, if given, this reason. */
  async stands(handle: Handle, phase: Phase, reason?: string): Promise<Progress> {
    const stands = (now: Progress): boolean => now.phase === phase && (reason === undefined || now.reason === reason);
    return await seen(`${phase} ${reason ?? ""}`, () => this.progress(handle), stands);
  }

  async #startServer(): Promise<string> {
    const { temporal } = await resolveTools(["temporal"]);
    const dynamic = (this.#options.dynamicConfig ?? []).map((value) => `--dynamic-config-value=${value}`);
    const { ports } = await startOnFreePorts(this.#supervisor, {
      ports: ["grpc", "http"],
      spec: ({ grpc, http }) => ({
        name: "temporal",
        command: temporal,
        args: [
          ...["server", "start-dev", "--headless", "--ip=127.0.0.1", "--log-level=error"],
          ...[`--port=${grpc}`, `--http-port=${http}`, ...dynamic],
        ],
        ready: httpProbe({ url: `http://127.0.0.1:${http}/api/v1/namespaces/default` }),
      }),
    });
    return `127.0.0.1:${ports.grpc}`;
  }
}

/**
 * Signals a change that ends the run. If the run has read the change by itself and ended already, no signal is needed;
 * the story then checks the result of the run.
 */
export async function signalChange(handle: Pick<WorkflowHandle, "signal">, generation: number): Promise<void> {
  await handle.signal("desiredChanged", { generation }).catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
}

/**
 * Returns the bundle that a worker of the current code loads in production; bundles the code here if no folder for a
 * cached bundle exists.
 */
async function keptOr(bundled: () => Promise<WorkflowBundleOption>): Promise<WorkflowBundleOption> {
  const codePath = await workflowBundle();
  return codePath === undefined ? await bundled() : { codePath };
}

/** Repeats a query until its answer matches; the error of a timeout contains the last answer. */
async function seen(
  what: string,
  ask: () => Promise<Progress>,
  look: (now: Progress) => boolean,
): Promise<Progress> {
  return await eventually(what, async () => {
    const now = await ask();
    if (look(now)) return now;
    const tasks = now.underway.map(({ machine, step }) => `${step} ${machine}`).join(", ");
    throw new NotYet(`${now.phase} ${now.reason}: ${now.message} (${tasks})`);
  });
}

const stages = new Map<string, Stage>();

type Story = (stage: Stage, t: Deno.TestContext) => Promise<void>;

/**
 * Returns a function that registers tests. All tests of this process with equal `options` share one stage: a Temporal
 * server with workers, which opens before the first of these tests and closes after the last. A test that runs several
 * `stories` as its steps has the time limit of one story multiplied by their number.
 */
export function onStage(options: StageOptions = {}): (name: string, run: Story, stories?: number) => void {
  const stage = stages.get(JSON.stringify(options)) ?? newStage(options);
  return (name, run, stories = 1) => {
    const fn = async (t: Deno.TestContext): Promise<void> => {
      await stage.open();
      await inTime(stage, (opened) => run(opened, t), stories * limitMs).finally(() => stage.clear());
    };
    // The native part of the SDK keeps handles open between tests, which Deno would otherwise report as leaks.
    Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn });
  };
}

function newStage(options: StageOptions): Stage {
  const stage = new Stage(options);
  stages.set(JSON.stringify(options), stage);
  Deno.test.afterAll(() => stage.close());
  return stage;
}

/**
 * The time limit (ms) of a story. No story takes longer on the slowest machine; a story that does is stuck, and the
 * error lists its last calls.
 */
const limitMs = 120_000;

async function inTime(stage: Stage, run: (stage: Stage) => Promise<void>, ms: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const last = stage.activities.last?.calls.slice(-12).join(", ");
    reject(new Error(`Failed to end the story: it still runs after ${ms} ms; its last calls were ${last}`));
  }, ms);
  try {
    await Promise.race([run(stage), late, stage.lost]);
  } finally {
    clearTimeout(timer);
  }
}
