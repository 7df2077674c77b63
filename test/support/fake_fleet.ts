/** The Temporal that several clusters share, in memory, with the calls of `ostler clusters`. */
import { defaultPayloadConverter } from "@temporalio/common";
import { runProgram } from "../../cli/program.ts";
import type { Server } from "../../cli/connect/server.ts";
import type { World } from "../../cli/connect/world.ts";
import { renewalIdOf, taskQueueOf, workflowIdOf } from "../../workflows/commands/start_options.ts";
import type { Ended } from "./fake_terminal.ts";
import { grpcStatus } from "./grpc_status.ts";

/** The time at which every test begins. */
export const start = Date.parse("2026-11-21T03:00:00Z");

/** A cluster; missing fields have healthy values. */
export interface FakeCluster {
  uid?: string;
  taskQueue?: string;
  isPaused?: boolean;
  /** Minutes for which a run of the renewal Schedule has been open; undefined if no run is open. */
  openFor?: number;
  /** Minutes since a worker of the cluster last polled; by default now, null for never. */
  silentFor?: number | null;
  /** Versions that poll, the first of them current unless `current` names another. */
  versions?: string[];
  current?: string;
  hasSchedule?: boolean;
  /** gRPC status code with which the read of the Schedule fails. */
  refusal?: number;
}

/** An open rollout, and its answer to the query. */
export interface FakeRun {
  cluster?: string;
  name: string;
  phase: string;
  /** The answer to the query `progress`; if missing, the query is never answered. */
  progress?: object;
}

/** The fields of a request that are read. */
interface Asked {
  scheduleId: string;
  query: string & { queryType?: string };
  pageSize: number;
  maximumPageSize: number;
  nextPageToken?: Uint8Array;
  taskQueue: { name: string };
  taskQueueType: number;
  execution: { workflowId: string };
  deploymentName: string;
}

const [notFound, invalidArgument, deadlineExceeded] = [5, 3, 4];

export class FakeFleet {
  readonly clusters = new Map<string, FakeCluster>();
  readonly runs: FakeRun[] = [];
  /** Whether the server can group counts by other columns than ExecutionStatus. */
  doesGroup = true;
  /** Error with which every call fails. */
  outage: Error | undefined;
  /** Number of open runs that the server counts, although it lists only `runs`. */
  total: number | undefined;
  /** IDs of Schedules that belong to none of these clusters. */
  readonly foreign: string[] = [];
  time = start;
  /** Methods in the order of the calls. */
  readonly asked: string[] = [];

  /** Runs `ostler` with access to this Temporal only: any request to Kubernetes fails. */
  async run(args: string[]): Promise<Ended> {
    const said = { out: "", err: "" };
    const terminal = {
      out: (text: string) => void (said.out += text),
      err: (text: string) => void (said.err += text),
      ...{ isWatched: false, isErrWatched: false, readStdin: () => Promise.resolve(""), directory: "/", env: {} },
    };
    const nothing = (): never => {
      throw new Error("Unexpected request to Kubernetes");
    };
    const world = {
      ...{ cluster: nothing, engine: nothing, whoAsks: nothing, sleep: nothing, close: () => Promise.resolve() },
      server: () => Promise.resolve(this.server),
      now: () => this.time,
    } as World;
    return { code: await runProgram(terminal, args, () => world), ...said };
  }

  get server(): Server {
    const answers: Record<string, (request: Asked) => unknown> = {
      listSchedules: (request) => this.#listSchedules(request),
      describeSchedule: ({ scheduleId }) => this.#schedule(scheduleId),
      describeTaskQueue: ({ taskQueue }) => ({ pollers: this.#pollers(taskQueue.name) }),
      describeWorkerDeployment: ({ deploymentName }) => this.#deployment(deploymentName),
      listWorkflowExecutions: (request) => this.#list(request),
      countWorkflowExecutions: ({ query }) => this.#count(query),
      queryWorkflow: ({ execution }) => this.#query(execution.workflowId),
    };
    const methods = Object.entries(answers).map(([name, answer]) => [name, async (request: Asked) => {
      await Promise.resolve();
      this.asked.push(name);
      if (this.outage) throw this.outage;
      return answer(request);
    }]);
    const workflowService = Object.fromEntries(methods);
    const within: Server["within"] = (_, work) => work();
    return {
      address: "temporal.test:7233",
      namespace: "fleet",
      cluster: "",
      service: { workflowService } as never,
      asksNobody: () => Promise.resolve(false),
      within,
    };
  }

  #listSchedules({ maximumPageSize, nextPageToken }: Asked): object {
    const ids = [...this.clusters].filter(([, { hasSchedule = true }]) => hasSchedule).map(([name]) =>
      renewalIdOf(name)
    );
    const all = [...ids, ...this.foreign].map((scheduleId) => ({
      scheduleId,
      info: { workflowType: { name: "renewCredentials" } },
    }));
    const { items, ...page } = pageOf(all, maximumPageSize, nextPageToken);
    return { schedules: items, ...page };
  }

  #schedule(scheduleId: string): object {
    const found = [...this.clusters].find(([name]) => renewalIdOf(name) === scheduleId);
    if (found === undefined) throw grpcStatus(notFound, "schedule not found");
    const [name, { uid = `uid-of-${name}`, taskQueue = taskQueueOf(name), isPaused, openFor, refusal }] = found;
    if (refusal !== undefined) throw grpcStatus(refusal, "refused by the fake");
    const fields = uid === "" ? {} : { cluster: defaultPayloadConverter.toPayload({ uid, name }) };
    return {
      schedule: {
        state: { paused: isPaused === true },
        action: { startWorkflow: { taskQueue: { name: taskQueue }, memo: { fields } } },
      },
      info: {
        runningWorkflows: openFor === undefined ? [] : [{ workflowId: scheduleId }],
        recentActions: [{ actualTime: this.#ago(openFor ?? 30), startWorkflowStatus: openFor === undefined ? 2 : 1 }],
        futureActionTimes: [this.#ago(-30)],
      },
    };
  }

  #pollers(queue: string): object[] {
    const found = [...this.clusters].find(([name, { taskQueue = taskQueueOf(name) }]) =>
      [taskQueue, `${taskQueue}-waits`].includes(queue)
    );
    const { silentFor = 0, versions = [""] } = found?.[1] ?? { silentFor: null };
    if (silentFor === null) return [];
    return versions.map((buildId) => ({
      identity: `worker-of-${buildId}`,
      lastAccessTime: this.#ago(silentFor),
      ...(buildId === "" ? {} : { deploymentOptions: { deploymentName: queue, buildId, workerVersioningMode: 2 } }),
    }));
  }

  #deployment(name: string): object {
    const { versions, current } = [...this.clusters].find(([one]) => name.startsWith(taskQueueOf(one)))?.[1] ?? {};
    return {
      workerDeploymentInfo: { routingConfig: { currentDeploymentVersion: { buildId: current ?? versions?.[0] } } },
    };
  }

  #list({ query, pageSize, nextPageToken }: Asked): object {
    if (query.startsWith("TemporalScheduledById")) return { executions: [{ closeTime: this.#ago(20) }] };
    const executions = this.#matching(query).map((run) => ({
      execution: { workflowId: idOf(run) },
      startTime: this.#ago(90),
      searchAttributes: { indexedFields: { Phase: defaultPayloadConverter.toPayload(run.phase) } },
    }));
    const { items, ...page } = pageOf(executions, pageSize, nextPageToken);
    return { executions: items, ...page };
  }

  #matching(query: string): FakeRun[] {
    const [, cluster] = /KubernetesCluster = "(.*?)"/.exec(query) ?? [];
    const [, not, phase] = /Phase (!?)= "(.*?)"/.exec(query) ?? [];
    return this.runs.filter((run) =>
      (cluster === undefined || run.cluster === cluster) &&
      (phase === undefined || (run.phase === phase) !== (not === "!"))
    );
  }

  #count(query: string): object {
    const found = this.#matching(query);
    if (!query.includes("GROUP BY")) {
      return { count: query.includes("Phase") ? found.length : this.total ?? found.length };
    }
    if (!this.doesGroup) throw grpcStatus(invalidArgument, "'group by' clause is only supported for ExecutionStatus");
    const phases = [...new Set(found.map(({ phase }) => phase))];
    return {
      groups: phases.map((phase) => ({
        groupValues: [defaultPayloadConverter.toPayload(phase)],
        count: found.filter((run) => run.phase === phase).length,
      })),
    };
  }

  #query(workflowId: string): object {
    const progress = this.runs.find((run) => idOf(run) === workflowId)?.progress;
    if (progress === undefined) throw grpcStatus(deadlineExceeded, "Timeout expired");
    return { queryResult: { payloads: [defaultPayloadConverter.toPayload(progress)] } };
  }

  #ago(minutes: number): { seconds: number; nanos: number } {
    return { seconds: this.time / 1000 - minutes * 60, nanos: 0 };
  }
}

function idOf({ cluster, name }: FakeRun): string {
  return workflowIdOf({ ...(cluster ? { cluster } : {}), namespace: "kube-system", name });
}

function pageOf<T>(all: T[], size: number, token: Uint8Array | undefined): { items: T[]; nextPageToken: Uint8Array } {
  const from = token?.length ? Number(new TextDecoder().decode(token)) : 0;
  const isMore = from + size < all.length;
  return {
    items: all.slice(from, from + size),
    nextPageToken: new TextEncoder().encode(isMore ? String(from + size) : ""),
  };
}
