import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import type { AddressInfo } from "node:net";
import { BoundedSeries, createMetrics } from "../../../../workers/metrics/registry.ts";
import { measuredAdmissions } from "../../../../workers/metrics/admission_measures.ts";
import { openMetrics } from "../../../../workers/metrics/open_metrics.ts";
import { requestsTold } from "../../../../workers/metrics/process_measures.ts";
import { serveMetrics } from "../../../../workers/metrics/serve_metrics.ts";
import { Lead, measurePolling } from "../../../../workers/metrics/serving_gauges.ts";
import { expectFailures, stepMeasures, withoutLogin } from "../../../../workers/metrics/step_measures.ts";

const pool = { namespace: "fleet", name: "workers" };

interface Answer {
  status: number | undefined;
  text: string;
}

function ask(url: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
      response.on("end", () => resolve({ status: response.statusCode, text }));
    }).on("error", reject);
  });
}

async function lines(metrics: Awaited<ReturnType<typeof createMetrics>>, name: string): Promise<string[]> {
  const { text } = await metrics.scrape();
  return text.split("\n").filter((line) => line.startsWith(name));
}

Deno.test("metrics: a failure with an alert is counted from 0, so that the first one is visible", async () => {
  const controller = await createMetrics("controller");
  deepEqual(await lines(controller, "ostler_rollout_signals_total"), [
    ...['ostler_rollout_signals_total{outcome="told"} 0', 'ostler_rollout_signals_total{outcome="failed"} 0'],
  ]);
  const worker = await createMetrics("worker");
  expectFailures(worker, ["readPool"]);
  deepEqual(await lines(worker, "ostler_activity_failures_total"), [
    'ostler_activity_failures_total{activity="readPool",type="InternalError"} 0',
    'ostler_activity_failures_total{activity="readPool",type="AccessDenied"} 0',
  ]);
  const webhook = await createMetrics("webhook");
  measuredAdmissions(webhook, { "/machine": () => Promise.resolve({}) });
  deepEqual(await lines(webhook, "ostler_admission_reviews_total"), [
    'ostler_admission_reviews_total{path="/machine",verdict="error"} 0',
  ]);
});

Deno.test("metrics: ostler_leader is 1 while the controller leads, and 0 afterwards, even after a failure", async () => {
  const metrics = await createMetrics("controller");
  const lead = new Lead(metrics);
  const told = async (): Promise<
    string[]
  > => [...await lines(metrics, "ostler_leader"), ...await lines(metrics, "ostler_rollouts_paused")];
  deepEqual(await told(), ["ostler_leader 0"]);
  await rejects(lead.during({ numbers: () => [] }, async () => {
    deepEqual(await told(), ["ostler_leader 1", "ostler_rollouts_paused 0"]);
    throw new Error("lost");
  }));
  deepEqual(await told(), ["ostler_leader 0"]);
});

Deno.test("metrics: ostler_worker_polling is 1 only when the worker reports that it polls, and not because it runs", async () => {
  const metrics = await createMetrics("worker");
  let isPolling = false;
  measurePolling(metrics, () => isPolling);
  deepEqual(await lines(metrics, "ostler_worker_polling"), ["ostler_worker_polling 0"]);
  isPolling = true;
  deepEqual(await lines(metrics, "ostler_worker_polling"), ["ostler_worker_polling 1"]);
});

Deno.test("metrics: measures nothing without a metrics address, and exports build and process metrics with an address", async () => {
  equal(await openMetrics("controller", { metricsAddress: { host: "0.0.0.0", port: 0 }, buildId: "" }), undefined);
  const metrics = await openMetrics("webhook", { metricsAddress: { host: "0.0.0.0", port: 9090 }, buildId: "1.2.3" });
  ok(metrics);
  deepEqual(await lines(metrics, "ostler_build_info"), ['ostler_build_info{process="webhook",version="1.2.3"} 1']);
  match((await lines(metrics, "process_cpu_seconds_total")).join(), /^process_cpu_seconds_total [\d.]+$/);
});

Deno.test("metrics: requests to the API server are counted by verb, resource and code, and never by name", async () => {
  const metrics = await createMetrics("worker");
  const told = requestsTold(metrics);
  for (const code of [200, 200, 409]) told?.({ verb: "patch", resource: "rollouts/status", code, seconds: 0.02 });
  deepEqual(await lines(metrics, "ostler_api_requests_total"), [
    'ostler_api_requests_total{verb="patch",resource="rollouts/status",code="200"} 2',
    'ostler_api_requests_total{verb="patch",resource="rollouts/status",code="409"} 1',
  ]);
  equal(requestsTold(undefined), undefined);
});

Deno.test("metrics: a machine is counted once, at its current join stage, and only while a wait for it runs", async () => {
  const metrics = await createMetrics("worker");
  const { underWay } = stepMeasures(metrics);
  const [one, other] = [{}, {}];
  underWay(one, ["instance", "instance"]);
  underWay(one, ["instance", "ready"]);
  underWay(other, ["drained"]);
  const counts = async (): Promise<string[]> =>
    (await lines(metrics, "ostler_machines_under_way")).filter((line) => !line.endsWith(" 0"));
  deepEqual(await counts(), [
    ...["instance", "ready", "drained"].map((rung) => `ostler_machines_under_way{rung="${rung}"} 1`),
  ]);
  underWay(one, []);
  underWay(other, []);
  deepEqual(await counts(), []);
});

Deno.test("metrics: durations of machines have labels for pool and image, and only the last 1,000 images have series", async () => {
  const metrics = await createMetrics("worker");
  const { joined } = stepMeasures(metrics);
  for (let nth = 0; nth <= 1_000; nth++) joined(40, { pool, image: `img-${nth}` });
  const counts = await lines(metrics, "ostler_join_duration_seconds_count");
  equal(counts.length, 1_000);
  equal(counts.some((line) => line.includes('"img-0"')), false);
  ok(counts.includes('ostler_join_duration_seconds_count{pool="fleet/workers",image="img-1000"} 1'));
});

Deno.test("metrics: the least recently used series is dropped first", () => {
  const series = new BoundedSeries(2);
  const [a, b, c] = [{ image: "a" }, { image: "b" }, { image: "c" }];
  deepEqual([series.use("x", a), series.use("x", b), series.use("x", a), series.use("y", c)], [[], [], [], []]);
  deepEqual(series.use("x", c), [b]);
});

Deno.test("metrics: credentials in the URL of an image do not become a label", async () => {
  equal(withoutLogin("https://robot:hunter2@images.example/u.qcow2?token=hunter2#x"), "https://images.example/u.qcow2");
  equal(withoutLogin("https://robot:hun/ter@2@images.example/u.qcow2"), "https://images.example/u.qcow2");
  equal(withoutLogin("docker://registry.example:5000/img@sha256:abc"), "docker://registry.example:5000/img@sha256:abc");
  const metrics = await createMetrics("worker");
  stepMeasures(metrics).drained(3, { pool, image: "http://a:hunter2@b/c" });
  equal((await metrics.scrape()).text.includes("hunter2"), false);
});

Deno.test("metrics: a process cannot measure a metric that it does not have", async () => {
  const metrics = await createMetrics("webhook");
  throws(() => metrics.set("ostler_leader", 1), {
    message: 'Failed to measure "ostler_leader": it is not a metric of this process',
  });
});

Deno.test("metrics: /metrics returns Ostler's metrics followed by those of Temporal's SDK, and only Ostler's when the SDK's cannot be read", async () => {
  const metrics = await createMetrics("controller");
  let sdk = (): Promise<string> => Promise.resolve("temporal_request 1\n");
  const said: string[] = [];
  const log = { error: () => {}, warn: (message: string) => void said.push(message) };
  const server = serveMetrics({ address: { host: "127.0.0.1", port: 0 }, metrics, more: () => sdk(), log });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const both = await ask(`http://127.0.0.1:${port}/metrics`);
  sdk = () => Promise.reject(new Error("refused"));
  const alone = await ask(`http://127.0.0.1:${port}/metrics`);
  const other = await ask(`http://127.0.0.1:${port}/secrets`);
  const noUrl = await ask(`http://127.0.0.1:${port}//`);
  server.close();
  await once(server, "close");
  deepEqual([both.status, alone.status, other.status, noUrl.status], [200, 200, 404, 404]);
  match(both.text, /^# HELP ostler_[^]*\ntemporal_request 1\n$/);
  match(alone.text, /^# HELP ostler_/);
  deepEqual(said, ["Failed to read the metrics of Temporal's SDK"]);
});

Deno.test("metrics: an address that is already in use is logged, and the process continues", async () => {
  const metrics = await createMetrics("controller");
  const said: string[] = [];
  const log = { error: (message: string) => void said.push(message), warn: () => {} };
  const first = serveMetrics({ address: { host: "127.0.0.1", port: 0 }, metrics, log });
  await once(first, "listening");
  const address = { host: "127.0.0.1", port: (first.address() as AddressInfo).port };
  const second = serveMetrics({ address, metrics, log });
  await once(second, "error");
  first.close();
  await once(first, "close");
  deepEqual(said, [`Failed to serve metrics on "127.0.0.1:${address.port}"`]);
});
