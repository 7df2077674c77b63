import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { httpProbe } from "../../../../deploy/local/process/http_probe.ts";
import { ApiConnection, ApiRefusal } from "../../../../deploy/local/stack/api_connection.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";
import { writeKubeconfig } from "../../../../deploy/local/stack/kubeconfig_file.ts";
import { ResourcePaths } from "../../../../deploy/local/stack/resource_paths.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly caPem: string;
  /** Writes a kubeconfig for this server that trusts the given authority. */
  readonly kubeconfig: (caPem: string) => Promise<string>;
}

async function serve(answer: Answer): Promise<TestServer> {
  const scratch = await scratchDirectory();
  const authority = await CertificateAuthority.create("kubernetes");
  const identity = await authority.issue({ commonName: "web", use: "server", ipAddresses: ["127.0.0.1"] });
  const server = createServer({ cert: identity.certificatePem, key: identity.keyPem }, answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = (caPem: string) =>
    writeKubeconfig(join(scratch.path, "kubeconfig.yaml"), {
      apiServer: { url, caPem },
      userName: "tester",
      credentials: { token: "a-token" },
    });
  return {
    url,
    caPem: authority.certificatePem,
    kubeconfig,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await scratch[Symbol.asyncDispose]();
    },
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

Deno.test("ApiConnection: sends the kubeconfig's token and returns the JSON of the response", async () => {
  await using server = await serve((request, response) => json(response, 200, { seen: request.headers.authorization }));
  using api = await ApiConnection.open(await server.kubeconfig(server.caPem));
  assert.deepEqual(await api.call({ method: "GET", path: "/version" }), { seen: "Bearer a-token" });
});

Deno.test("ApiConnection: reuses one connection for consecutive calls", async () => {
  await using server = await serve((request, response) => json(response, 200, request.socket.remotePort));
  using api = await ApiConnection.open(await server.kubeconfig(server.caPem));
  const first = await api.call({ method: "GET", path: "/a" });
  assert.equal(await api.call({ method: "GET", path: "/b" }), first);
});

Deno.test("ApiConnection: rejects with status and message of an error response", async () => {
  await using server = await serve((_, response) => json(response, 403, { message: "pods is forbidden" }));
  using api = await ApiConnection.open(await server.kubeconfig(server.caPem));
  await assert.rejects(api.call({ method: "GET", path: "/api" }), (error) => {
    assert.ok(error instanceof ApiRefusal);
    assert.equal(error.status, 403);
    assert.equal(error.message, 'Failed to GET "/api": 403 pods is forbidden');
    return true;
  });
});

Deno.test("ApiConnection: refuses a server of another authority", async () => {
  await using server = await serve((_, response) => json(response, 200, {}));
  const stranger = await CertificateAuthority.create("stranger");
  using api = await ApiConnection.open(await server.kubeconfig(stranger.certificatePem));
  await assert.rejects(api.call({ method: "GET", path: "/version" }), /certificate|UnknownIssuer|unable to verify/i);
});

Deno.test("ResourcePaths: finds the path of a kind and skips its subresources", async () => {
  await using server = await serve((request, response) => {
    assert.equal(request.url, "/apis/apps/v1");
    const resources = [
      { name: "deployments/scale", kind: "Deployment", namespaced: true },
      { name: "deployments", kind: "Deployment", namespaced: true },
    ];
    json(response, 200, { resources });
  });
  using api = await ApiConnection.open(await server.kubeconfig(server.caPem));
  const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" } };
  assert.equal(await new ResourcePaths(api).pathOf(object), "/apis/apps/v1/namespaces/shop/deployments/web");
});

Deno.test("httpProbe: succeeds only for a 200 from a server of the right authority", async () => {
  let status = 503;
  await using server = await serve((_, response) => json(response, status, {}));
  const { signal } = new AbortController();
  const probe = httpProbe({ url: `${server.url}/readyz`, caPem: server.caPem });
  await assert.rejects(probe(signal), /Failed to get "https:.*readyz": status 503/);
  status = 200;
  await probe(signal);
  await assert.rejects(httpProbe({ url: `${server.url}/readyz` })(signal), /Failed to get/);
});
