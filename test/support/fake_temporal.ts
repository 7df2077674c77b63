/** The parts of a Temporal server that administrators manage, namespaces and search attributes, in memory. */
import type { NativeConnection } from "@temporalio/worker";
import { grpcStatus } from "./grpc_status.ts";

type Service = Pick<NativeConnection, "workflowService" | "operatorService">;

interface Kept {
  /** Retention time of the namespace in seconds. */
  retention: number;
  columns: Set<string>;
}

/** gRPC status codes. */
const [invalidArgument, notFound] = [3, 5];

interface Asked {
  namespace: string;
  query: string;
  scheduleId: string;
  workflowExecution: { workflowId: string };
  searchAttributes: Record<string, number>;
  workflowExecutionRetentionPeriod: { seconds: number };
  config: { workflowExecutionRetentionTtl: { seconds: number } };
}

export class FakeTemporal {
  readonly namespaces = new Map<string, Kept>();
  /** Methods that wrote, in order. */
  readonly writes: string[] = [];
  /** gRPC status code for a method; undefined executes it. */
  refusal: (method: string) => number | undefined = () => undefined;
  /** IDs of Schedules, with the memo of the workflow that they start. */
  readonly schedules = new Map<string, { cluster?: { uid: string } }>();
  /** IDs of open runs. */
  readonly runs = new Set<string>();
  /** Number of reads of a new namespace that still fail, because parts of a real server see a new namespace later. */
  deafFor = 0;
  /** Whether the server answers clients without credentials. */
  asksNobody = false;

  get service(): Service {
    const reads = ["describeNamespace", "listWorkflowExecutions", "describeSchedule"];
    const asked = (method: string, answer: (request: Asked) => unknown): [string, unknown] => [
      method,
      async (request: Asked) => {
        await Promise.resolve();
        const code = this.refusal(method);
        if (code !== undefined) throw grpcStatus(code, "refused by the fake");
        if (!reads.includes(method)) this.writes.push(method);
        return answer(request);
      },
    ];
    const workflowService = Object.fromEntries([
      asked("describeNamespace", ({ namespace }) => ({
        config: { workflowExecutionRetentionTtl: { seconds: this.#at(namespace).retention } },
      })),
      asked(
        "registerNamespace",
        ({ namespace, workflowExecutionRetentionPeriod: { seconds } }) =>
          void this.namespaces.set(namespace, { retention: seconds, columns: new Set() }),
      ),
      asked(
        "updateNamespace",
        ({ namespace, config }) => void (this.#at(namespace).retention = config.workflowExecutionRetentionTtl.seconds),
      ),
      asked("describeSchedule", ({ scheduleId }) => ({ schedule: this.#schedule(scheduleId) })),
      asked("deleteSchedule", ({ scheduleId }) => void this.schedules.delete(scheduleId)),
      asked("terminateWorkflowExecution", ({ workflowExecution }) => {
        this.runs.delete(workflowExecution.workflowId);
      }),
      asked("listWorkflowExecutions", ({ namespace, query }) => this.#list(namespace, query)),
    ]);
    const operatorService = Object.fromEntries([
      asked("addSearchAttributes", ({ namespace, searchAttributes }) => {
        for (const name of Object.keys(searchAttributes)) this.#at(namespace).columns.add(name);
      }),
    ]);
    return { workflowService, operatorService } as unknown as Service;
  }

  #at(namespace: string): Kept {
    const kept = this.namespaces.get(namespace);
    if (kept === undefined) throw grpcStatus(notFound, `Namespace ${namespace} is not found.`);
    return kept;
  }

  #schedule(id: string): object {
    const memo = this.schedules.get(id);
    if (memo === undefined) throw grpcStatus(notFound, "schedule not found");
    const { cluster } = memo;
    const fields = cluster ? { cluster: { data: new TextEncoder().encode(JSON.stringify(cluster)) } } : {};
    return { action: { startWorkflow: { memo: { fields } } } };
  }

  #list(namespace: string, query: string): object {
    if (query.startsWith("ExecutionStatus")) {
      return { executions: [...this.runs].map((workflowId) => ({ execution: { workflowId } })) };
    }
    const { columns } = this.#at(namespace);
    if (this.deafFor-- > 0) throw grpcStatus(notFound, `Namespace ${namespace} is not found.`);
    const [name = ""] = query.split(" ");
    if (!columns.has(name)) throw grpcStatus(invalidArgument, `column name '${name}' is not a valid search attribute`);
    return { executions: [] };
  }
}
