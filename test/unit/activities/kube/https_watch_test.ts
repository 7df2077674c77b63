import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { KubeConfig } from "@kubernetes/client-node";
import { HttpsWatch } from "../../../../activities/kube/https_watch.ts";
import { startTlsServer, type TlsServer } from "../../deploy/cloud/tls_server.ts";

function configFor(server: TlsServer): KubeConfig {
  const config = new KubeConfig();
  const caData = Buffer.from(server.ca).toString("base64");
  config.loadFromClusterAndUser({ name: "c", server: server.url, caData, skipTLSVerify: false }, {
    name: "u",
    token: "t",
  });
  return config;
}

function event(name: string): string {
  return `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
}

async function watchOnce(listener: RequestListener, quietMs: number): Promise<{ events: string[]; ended: unknown }> {
  await using server = await startTlsServer(listener);
  const events: string[] = [];
  const watch = new HttpsWatch(configFor(server), quietMs);
  const ended = await new Promise((resolve) => {
    void watch.watch("/x", { resourceVersion: "1" }, (_, object) => events.push(object.metadata.name), resolve);
  });
  return { events, ended };
}

Deno.test("HttpsWatch: delivers events and reports the end of the stream", async () => {
  const { events, ended } = await watchOnce((request, response) => {
    assert.equal(request.url, "/x?watch=true&allowWatchBookmarks=true&resourceVersion=1");
    response.end(event("a") + event("b"));
  }, 60_000);
  assert.deepEqual([events, ended], [["a", "b"], null]);
});

Deno.test("HttpsWatch: reports a silent stream as a timeout", async () => {
  const { events, ended } = await watchOnce((_, response) => void response.write(event("a")), 300);
  assert.deepEqual(events, ["a"]);
  assert.equal((ended as Error).name, "TimeoutError");
});

Deno.test("HttpsWatch: reports the status of a refused watch", async () => {
  const { ended } = await watchOnce((_, response) => void response.writeHead(410).end(), 60_000);
  assert.equal((ended as { statusCode?: number }).statusCode, 410);
});

Deno.test("HttpsWatch: reports a connection that the server breaks off, and not as a timeout", async () => {
  const { ended } = await watchOnce((_, response) => {
    response.write(event("a"), () => response.destroy());
  }, 60_000);
  assert.notEqual((ended as Error | null)?.name, "TimeoutError");
});

Deno.test("HttpsWatch: ends without an error when aborted", async () => {
  await using server = await startTlsServer((_, response) => void response.write(event("a")));
  const watch = new HttpsWatch(configFor(server));
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const controller = await watch.watch("/x", {}, () => started.resolve(), ended.resolve);
  await started.promise;
  controller.abort();
  assert.equal(await ended.promise, null);
});
