import { deepEqual, rejects } from "node:assert/strict";
import { ensureSearchAttributes, type SearchService } from "../../../../activities/temporal/search_attributes.ts";
import { columnsOf } from "../../../../workflows/commands/start_options.ts";
import { grpcStatus } from "../../../support/grpc_status.ts";

const [permissionDenied, unavailable] = [7, 14];

/** A Temporal server with some search attributes; by default it refuses to register others. */
class FakeServer {
  readonly asked: string[] = [];
  refusal: Error | undefined = grpcStatus(permissionDenied, "Request unauthorized.");
  isDown = false;

  constructor(readonly known: string[]) {}

  get service(): SearchService {
    const addSearchAttributes = ({ searchAttributes }: { searchAttributes: Record<string, number> }): Promise<void> => {
      if (this.refusal) return Promise.reject(this.refusal);
      this.known.push(...Object.keys(searchAttributes));
      return Promise.resolve();
    };
    const listWorkflowExecutions = ({ query }: { query: string }): Promise<object> => {
      this.asked.push(query);
      if (this.isDown) return Promise.reject(grpcStatus(unavailable, "connection refused"));
      const [name = ""] = query.split(" ");
      if (this.known.includes(name)) return Promise.resolve({ executions: [] });
      return Promise.reject(grpcStatus(3, `invalid query: column name '${name}' is not a valid search attribute`));
    };
    return { operatorService: { addSearchAttributes }, workflowService: { listWorkflowExecutions } } as never;
  }
}

const all = ["KubernetesNamespace", "MachineDeployment", "TargetImage", "Phase"];

Deno.test("ensureSearchAttributes: registers the missing search attributes when it has the permission", async () => {
  const server = new FakeServer([]);
  server.refusal = undefined;
  await ensureSearchAttributes(server.service, { namespace: "fleet", columns: columnsOf("") });
  deepEqual([server.known, server.asked], [all, []]);
  await ensureSearchAttributes(server.service, { namespace: "fleet", columns: columnsOf("north") });
  deepEqual(server.known.includes("KubernetesCluster"), true);
});

Deno.test("ensureSearchAttributes: succeeds without the permission to register when the search attributes exist", async () => {
  await ensureSearchAttributes(new FakeServer(all).service, { namespace: "fleet", columns: columnsOf("") });
});

Deno.test("ensureSearchAttributes: names the missing search attributes, and the command that creates them, when it is forbidden to register", async () => {
  const server = new FakeServer(all.slice(0, 3));
  await rejects(ensureSearchAttributes(server.service, { namespace: "fleet", columns: columnsOf("north") }), {
    message:
      'Failed to register the search attributes "KubernetesCluster", "Phase" in Temporal\'s namespace "fleet"; ' +
      "an administrator must run `temporal operator search-attribute create --namespace fleet " +
      "--name KubernetesCluster --type Keyword --name Phase --type Keyword`",
  });
});

Deno.test("ensureSearchAttributes: fails during an outage, and does not report attributes as missing", async () => {
  const server = new FakeServer(all);
  server.isDown = true;
  await rejects(ensureSearchAttributes(server.service, { namespace: "fleet", columns: columnsOf("") }), {
    message: "connection refused",
  });
});
