import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fetchSecret } from "../../../../deploy/local/cloud/boot/fetch_secret.ts";
import { base64, makeCa } from "./boot_fixtures.ts";
import { startTlsServer } from "./tls_server.ts";

const secret = { namespace: "ns", name: "config" };

function serveSecret(request: IncomingMessage, response: ServerResponse): void {
  const isAllowed = request.headers.authorization === "Bearer right";
  response.statusCode = isAllowed && request.url === "/api/v1/namespaces/ns/secrets/config" ? 200 : 403;
  response.end(JSON.stringify({ data: { "cloud-config": base64("content"), note: "private" } }));
}

Deno.test("fetchSecret: returns the value of a Secret's key from a server of the pinned CA that accepts the token", async () => {
  await using server = await startTlsServer(serveSecret);
  const access = { server: server.url, ca: server.ca, token: "right" };
  assert.equal(await fetchSecret(access, secret, "cloud-config"), "content");
});

Deno.test("fetchSecret: refuses a server whose certificate another CA signed", async () => {
  await using server = await startTlsServer(serveSecret);
  const access = { server: server.url, ca: await makeCa(), token: "right" };
  await assert.rejects(fetchSecret(access, secret, "cloud-config"), /Failed to reach "https:/);
});

Deno.test("fetchSecret: reports the HTTP status when the token is refused, and neither the token nor the body", async () => {
  await using server = await startTlsServer(serveSecret);
  const access = { server: server.url, ca: server.ca, token: "wrong" };
  await assert.rejects(fetchSecret(access, secret, "cloud-config"), {
    message: 'Failed to fetch Secret "ns/config": HTTP 403',
  });
});

Deno.test("fetchSecret: names a key that the Secret lacks", async () => {
  await using server = await startTlsServer(serveSecret);
  const access = { server: server.url, ca: server.ca, token: "right" };
  await assert.rejects(fetchSecret(access, secret, "kubeconfig"), /"ns\/config": it has no key "kubeconfig"/);
});
