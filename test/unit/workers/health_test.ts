import { deepEqual, equal } from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import { freePorts } from "../../../deploy/local/process/free_ports.ts";
import { serveHealth } from "../../../workers/health.ts";

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => response.resume().on("end", () => resolve(response.statusCode)))
      .on("error", reject);
  });
}

Deno.test("serveHealth: distinguishes liveness from readiness", async () => {
  const [port = 0] = await freePorts(1);
  let ready = false;
  const server = serveHealth({ host: "127.0.0.1", port, isReady: () => ready });
  if (!server) throw new Error("Failed to probe: nothing is served");
  if (!server.listening) await once(server, "listening");
  const ask = (path: string): Promise<number | undefined> => statusOf(`http://127.0.0.1:${port}${path}`);
  const before = [await ask("/healthz"), await ask("/readyz"), await ask("/secrets")];
  ready = true;
  const after = await ask("/readyz");
  server.close();
  await once(server, "close");
  deepEqual([before, after], [[200, 503, 404], 200]);
});

Deno.test("serveHealth: serves nothing on port 0", () => {
  equal(serveHealth({ host: "127.0.0.1", port: 0, isReady: () => true }), undefined);
});
