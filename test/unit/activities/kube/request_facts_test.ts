import { deepEqual, equal, rejects } from "node:assert/strict";
import { HttpMethod, RequestContext } from "@kubernetes/client-node";
import { PacedHttp, requestFactsOf, type RequestOutcome, RequestRate } from "../../../../activities/kube/paced_http.ts";

const server = "https://10.0.0.1:6443";

Deno.test("request facts: contain verb and resource, whatever object a request names", () => {
  const asked: [string, string, string][] = [
    ["GET", "/api/v1/nodes", "list nodes"],
    ["GET", "/api/v1/nodes/w-1", "get nodes"],
    ["GET", "/api/v1/namespaces/kube-system", "get namespaces"],
    ["POST", "/api/v1/namespaces/web/pods/web-0/eviction", "create pods/eviction"],
    ["PATCH", "/apis/ostler.dev/v1alpha1/namespaces/fleet/rollouts/workers/status", "patch rollouts/status"],
    ["PUT", "/apis/coordination.k8s.io/v1/namespaces/ostler-system/leases/ostler-controller", "update leases"],
    ["DELETE", "/apis/cluster.k8s.io/v1alpha1/namespaces/fleet/machines/m-1", "delete machines"],
    ["DELETE", "/apis/ostler.dev/v1alpha1/namespaces/fleet/rollouts?limit=5", "deletecollection rollouts"],
    ["GET", "/k8s/clusters/c-1/api/v1/namespaces/fleet/secrets/s?x=/api/v1/nodes", "get secrets"],
    ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", "create tokenreviews"],
    ["GET", "/version", "other other"],
  ];
  const facts = asked.map(([method, path]) => requestFactsOf(method, server + path));
  deepEqual(facts.map(({ verb, resource }) => `${verb} ${resource}`), asked.map(([, , wanted]) => wanted));
});

Deno.test("request facts: report the HTTP status of each attempt, and 0 for an attempt without a response", async () => {
  const told: RequestOutcome[] = [];
  const answers = [503, 200];
  const listening = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    const status = answers.shift() ?? 200;
    return new Response("{}", { status, headers: status === 503 ? { "retry-after": "0" } : {} });
  });
  const http = new PacedHttp(new RequestRate(), { told: (outcome) => void told.push(outcome) });
  const of = (port: number): RequestContext =>
    new RequestContext(`http://127.0.0.1:${port}/api/v1/nodes`, HttpMethod.GET);
  const { port } = listening.addr;
  equal((await http.send(of(port))).httpStatusCode, 200);
  await listening.shutdown();
  await rejects(http.send(of(port)));
  deepEqual(
    told.map(({ verb, resource, code }) => [verb, resource, code]),
    [503, 200, 0].map((code) => ["list", "nodes", code]),
  );
  equal(told.every(({ seconds }) => seconds >= 0 && seconds < 10), true);
});
