/** The metrics of processes that run but cannot work, because they cannot reach Temporal. */
import { match } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { freePorts } from "../../../../deploy/local/process/free_ports.ts";
import { type Config, readConfig } from "../../../../workers/config.ts";
import { runController } from "../../../../workers/controller.ts";
import { runWorker } from "../../../../workers/worker.ts";
import { eventually } from "../../../support/eventually.ts";
import { FakeTerminal } from "../../../support/fake_terminal.ts";

/** Runs a process with a reachable API server and an unreachable Temporal, and returns its metrics. */
async function toldBy(run: (config: Config, signal: AbortSignal) => Promise<void>): Promise<string> {
  const api = createServer((_, response) => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid: "uid-north" } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(namespace));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  using terminal = new FakeTerminal();
  const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const parts = { clusters: [{ name: "c", cluster: { server } }], users: [{ name: "u", user: {} }], contexts };
  terminal.write("kubeconfig", JSON.stringify({ ...parts, "current-context": "x" }));
  const [port = 0] = await freePorts(1);
  const config = readConfig({
    ...{ KUBECONFIG: `${terminal.directory}/kubeconfig`, OSTLER_LEADER_ELECT: "false", OSTLER_LOG_LEVEL: "ERROR" },
    ...{ OSTLER_HEALTH_PROBE_ADDRESS: "127.0.0.1:0", OSTLER_METRICS_ADDRESS: `127.0.0.1:${port}` },
    ...{ TEMPORAL_ADDRESS: "127.0.0.1:1", TEMPORAL_NAMESPACE: "default", TEMPORAL_CONFIG_FILE: "/dev/null" },
  });
  const stop = new AbortController();
  const running = run(config, stop.signal);
  let text = "";
  try {
    await eventually("metrics", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
      text = await answer?.text() ?? "";
      return text !== "";
    });
  } finally {
    stop.abort();
    await running;
    api.closeAllConnections();
    await new Promise((resolve) => api.close(resolve));
  }
  return text;
}

Deno.test("waiting processes: a controller without Temporal exports its metrics, and reports that it does not lead", async () => {
  const text = await toldBy(runController);
  match(text, /^ostler_build_info{process="controller",/m);
  match(text, /^ostler_leader 0$/m);
});

Deno.test("waiting processes: a worker without Temporal exports its metrics: it does not poll, and activity failures start at 0", async () => {
  const text = await toldBy(runWorker);
  match(text, /^ostler_build_info{process="worker",/m);
  match(text, /^ostler_worker_polling 0$/m);
  match(text, /^ostler_activity_failures_total{activity="publishDesired",type="InternalError"} 0$/m);
  match(text, /^ostler_activity_failures_total{activity="deliverNotice",type="NoticeUndelivered"} 0$/m);
  match(text, /^ostler_activity_failures_total{activity="deliverNotice",type="NoticeRefused"} 0$/m);
});
