import assert from "node:assert/strict";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { Balancer } from "../../../support/kubeadm/balancer.ts";
import { waitUntil } from "../../../../deploy/local/process/wait_until.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";

const host = "127.0.0.1";
const authority = await CertificateAuthority.create("test");
const caPem = authority.certificatePem;
const { certificatePem: cert, keyPem: key } = await authority.issue({
  ...{ commonName: "api", use: "server", ipAddresses: [host] },
});

/** A fake API server: it answers each request with its name, and /readyz with 500 while it is not ready. */
class Api implements AsyncDisposable {
  isReady = true;
  readonly #server: https.Server;

  private constructor(name: string) {
    this.#server = https.createServer({ cert, key }, ({ url }, response) => {
      response.writeHead(url === "/readyz" && !this.isReady ? 500 : 200).end(name);
    });
  }

  static async start(name: string): Promise<Api> {
    const api = new Api(name);
    await new Promise<void>((resolve) => api.#server.listen(0, host, resolve));
    return api;
  }

  get address(): string {
    return `${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function ask(port: number, agent: https.Agent | false = false): Promise<string> {
  return new Promise((resolve, reject) => {
    https.get({ host, port, path: "/", ca: caPem, agent }, (response) => {
      Array.fromAsync(response).then((chunks) => resolve(chunks.join("")), reject);
    }).on("error", reject);
  });
}

/** Sends `times` requests, each over a new connection, and returns the names of the servers that answered. */
async function askedBy(port: number, times: number): Promise<string> {
  const names = await Promise.all(Array.from({ length: times }, () => ask(port)));
  return [...new Set(names)].sort().join();
}

const soon = (what: string, look: () => Promise<void>): Promise<void> => waitUntil(look, { what, timeoutMs: 10_000 });

Deno.test("Balancer: forwards to ready servers, and not to unready or removed ones", async () => {
  await using one = await Api.start("one");
  await using two = await Api.start("two");
  const addresses = [one.address, two.address];
  await using balancer = await Balancer.start(host, { addresses: () => addresses, caPem });
  await soon("both", async () => assert.equal(await askedBy(balancer.port, 4), "one,two"));
  two.isReady = false;
  await soon("the ready one", async () => assert.equal(await askedBy(balancer.port, 4), "one"));
  two.isReady = true;
  await soon("both again", async () => assert.equal(await askedBy(balancer.port, 4), "one,two"));
  addresses.shift();
  assert.equal(await askedBy(balancer.port, 4), "two", "Expected no further request to the removed server");
});

Deno.test("Balancer: closes the connections of a removed server", async () => {
  await using one = await Api.start("one");
  const addresses = [one.address];
  await using balancer = await Balancer.start(host, { addresses: () => addresses, caPem });
  const agent = new https.Agent({ keepAlive: true });
  await soon("an answer", async () => assert.equal(await ask(balancer.port, agent), "one"));
  addresses.pop();
  await soon("no answer on a connection that was kept", () => assert.rejects(ask(balancer.port, agent)));
  agent.destroy();
});
