import { CoordinationV1Api, HttpMethod, RequestContext } from "@kubernetes/client-node";
import type { ResponseContext } from "@kubernetes/client-node";
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connectKube, type Kube, pooled } from "../../../../activities/kube/client.ts";
import { PacedHttp, RequestRate } from "../../../../activities/kube/paced_http.ts";
import { statusOf } from "../../../../activities/kube/status.ts";
import { FaultyApi, response } from "../../../support/faulty_api.ts";
import type { Fault } from "../../../support/faulty_api.ts";

const where = { namespace: "n", name: "p" };
const generated = { metadata: { generateName: "p-" } };
const tokenBody = { spec: { audiences: [], expirationSeconds: 600 } };

/** One request of each kind that is not idempotent, and a read, which is. */
const calls: Record<string, (kube: Kube) => Promise<unknown>> = {
  "an eviction": ({ core }) => core.createNamespacedPodEviction({ ...where, body: { metadata: where } }),
  "a token request": ({ core }) => core.createNamespacedServiceAccountToken({ ...where, body: tokenBody }),
  "a create with generateName": ({ core }) => core.createNamespacedSecret({ namespace: "n", body: generated }),
  "a replacement": ({ core }) => core.replaceNamespacedSecret({ ...where, body: { metadata: where } }),
  "a status write": ({ core }) => core.patchNamespacedPodStatus({ ...where, body: { status: {} } }),
  "a deletion": ({ core }) => core.deleteNamespacedPod(where),
  "a read": ({ core }) => core.readNamespacedSecret(where),
};

/** A client whose connections were used before. */
async function warm(api: FaultyApi): Promise<Kube> {
  const kube = connectKube(pooled(api.config));
  for (let nth = 0; nth < 6; nth++) await calls["a read"]?.(kube);
  api.seen.length = 0;
  return kube;
}

for (const fault of ["break", "end", "break in head"] satisfies Fault[]) {
  for (const [what, call] of Object.entries(calls)) {
    Deno.test(`PacedHttp: does not repeat ${what} when a reused connection fails with "${fault}"`, async () => {
      await using api = await FaultyApi.start();
      const kube = await warm(api);
      api.faults = [fault];
      await rejects(call(kube), { message: "fetch failed" });
      await calls["a read"]?.(kube);
      deepEqual(api.seen.map(({ nth }) => nth > 1 || "a new connection").slice(0, 1), [true]);
      equal(api.seen.length, 2);
    });
  }
}

async function ask(api: FaultyApi, wholeMs: number): Promise<ResponseContext> {
  const request = new RequestContext(`${api.url}/api/v1/pods`, HttpMethod.GET);
  await pooled(api.config).applySecurityAuthentication(request);
  return await new PacedHttp(new RequestRate(), { ms: wholeMs }).send(request);
}

Deno.test("PacedHttp: reports immediately that the connection broke off within the body of a response", async () => {
  await using api = await FaultyApi.start();
  api.faults = ["break in body"];
  await rejects(ask(api, 60_000), { message: "fetch failed" });
});

Deno.test("PacedHttp: ends a request whose response stalls within its body", async () => {
  await using api = await FaultyApi.start();
  api.faults = [response(200, {}).slice(0, -1)];
  await rejects(ask(api, 200), { name: "TimeoutError", message: "no complete response within 0.2 seconds" });
});

interface Handler {
  onRequestStart(sending: { abort(reason: Error): void }): void;
  onResponseStart(sending: unknown, status: number, headers: object): void;
  onResponseEnd(): void;
}

/** Returns a GET request whose dispatcher opens no connection, and passes the request's handler to `take` instead. */
function requestBy(path: string, take: (handler: Handler) => void): RequestContext {
  const request = new RequestContext(`https://api.example${path}`, HttpMethod.GET);
  request.setDispatcher({ dispatch: (_: object, handler: Handler) => void take(handler) } as never);
  return request;
}

Deno.test("PacedHttp: cancels a request that still waits for a connection at its timeout", async () => {
  const waiting: Handler[] = [];
  const request = requestBy("/api/v1/pods", (handler) => waiting.push(handler));
  await rejects(new PacedHttp(new RequestRate(), { ms: 10 }).send(request), { name: "TimeoutError" });
  const reasons: string[] = [];
  waiting[0]?.onRequestStart({ abort: ({ name }) => reasons.push(name) });
  deepEqual(reasons, ["TimeoutError"]);
});

Deno.test("PacedHttp: does not count requests for Leases against the rate limit, also with the path prefix of a proxy", async () => {
  const never = new RequestRate({ qps: 0.001, burst: 0 });
  const request = requestBy("/clusters/c/apis/coordination.k8s.io/v1/namespaces/n/leases/l", (handler) => {
    handler.onResponseStart(undefined, 200, {});
    handler.onResponseEnd();
  });
  equal((await new PacedHttp(never).send(request)).httpStatusCode, 200);
});

const busy = response(429, { "Retry-After": "0" });
const overBudget = response(429, { "Retry-After": "0" }, '{"message":"disruption budget"}');

Deno.test("PacedHttp: retries when the API server is too busy", async () => {
  await using api = await FaultyApi.start();
  const kube = await warm(api);
  api.faults = [busy, busy];
  await calls["a create with generateName"]?.(kube);
  equal(api.seen.length, 3);
});

Deno.test("PacedHttp: gives up after three attempts, and when Retry-After is long", async () => {
  await using api = await FaultyApi.start();
  const kube = await warm(api);
  api.faults = [busy, busy, busy];
  await rejects(async () => await calls["a read"]?.(kube), (error) => statusOf(error) === 429);
  equal(api.seen.length, 3);
  api.faults = [response(429, { "Retry-After": "60" })];
  await rejects(async () => await calls["a read"]?.(kube), (error) => statusOf(error) === 429);
  equal(api.seen.length, 4);
});

Deno.test("PacedHttp: passes HTTP 429 for an eviction on to the caller without a retry, when a PodDisruptionBudget refuses it", async () => {
  await using api = await FaultyApi.start();
  const kube = await warm(api);
  api.faults = [overBudget];
  await rejects(async () => await calls["an eviction"]?.(kube), (error) => statusOf(error) === 429);
  equal(api.seen.length, 1);
});

Deno.test("PacedHttp: retries HTTP 503 with Retry-After only for requests that change nothing", async () => {
  await using api = await FaultyApi.start();
  const kube = await warm(api);
  const down = response(503, { "Retry-After": "0" });
  api.faults = [down];
  await calls["a read"]?.(kube);
  equal(api.seen.length, 2);
  api.faults = [down];
  await rejects(async () => await calls["an eviction"]?.(kube), (error) => statusOf(error) === 503);
  equal(api.seen.length, 3);
});

Deno.test("RequestRate: lets a burst through and the rest at its rate, in order of arrival", () => {
  const rate = new RequestRate({ qps: 10, burst: 2 });
  deepEqual([1, 2, 3, 4].map(() => rate.take(1000)), [0, 0, 100, 200]);
  deepEqual([rate.take(1200), rate.take(1800)], [100, 0]);
});

Deno.test("RequestRate: saves up at most one burst of requests while idle", () => {
  const rate = new RequestRate({ qps: 10, burst: 2 });
  rate.take(0);
  deepEqual([1, 2, 3].map(() => rate.take(60_000)), [0, 0, 100]);
});

Deno.test("pooled: makes all clients of a process share one request rate, which does not delay Leases", async () => {
  await using api = await FaultyApi.start();
  const config = pooled(api.config, { qps: 4, burst: 1 });
  const kube = connectKube(config);
  const begun = Date.now();
  const all = Promise.all([kube.core.readNode({ name: "a" }), kube.policy.readNamespacedPodDisruptionBudget(where)]);
  await config.makeApiClient(CoordinationV1Api).readNamespacedLease(where);
  const leased = Date.now() - begun;
  await all;
  const took = Date.now() - begun;
  ok(took >= 240 && leased < took, `The lease took ${leased} of ${took} ms`);
});
