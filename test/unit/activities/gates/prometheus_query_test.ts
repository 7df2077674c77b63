import { deepEqual, equal, rejects } from "node:assert/strict";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { queryPrometheus } from "../../../../activities/gates/prometheus_query.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";

const answer = JSON.stringify({ status: "success", data: { resultType: "scalar", result: [1, "7"] } });
const noAccess = { hosts: [], ca: "", token: () => Promise.resolve("") };
const token = (): Promise<string> => Promise.resolve("sesame");

/**
 * Runs `story` with a server, which has TLS with a certificate of its own CA if `isSecure`; `seen` contains the
 * Authorization header of each request.
 */
async function serving(
  isSecure: boolean,
  story: (server: { url: string; host: string; ca: string; seen: (string | undefined)[] }) => Promise<void>,
  said = answer,
): Promise<void> {
  const authority = await CertificateAuthority.create("metrics");
  const { certificatePem: cert, keyPem: key } = await authority.issue({
    ...{ commonName: "prometheus", use: "server", ipAddresses: ["127.0.0.1"] } as const,
  });
  const seen: (string | undefined)[] = [];
  const reply: Parameters<typeof createPlainServer>[1] = (request, response) => {
    seen.push(request.headers.authorization);
    response.end(said);
  };
  const server = isSecure ? createServer({ cert, key }, reply) : createPlainServer(reply);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await story({ url: `${isSecure ? "https" : "http"}://${host}`, host, ca: authority.certificatePem, seen });
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

Deno.test("fault S8: Prometheus: sends requests only to hosts that an administrator allows, by port or for all ports", async () => {
  await serving(false, async ({ url, host, seen }) => {
    for (const hosts of [[host], ["127.0.0.1"], ["other", host]]) {
      deepEqual(await queryPrometheus(url, "up", { ...noAccess, hosts }), [7]);
    }
    const asked = seen.length;
    for (const hosts of [[], ["127.0.0.1:1"], ["localhost"], ["127.0.0.10"]]) {
      await rejects(queryPrometheus(url, "up", { ...noAccess, hosts }), /is not listed in prometheus-hosts/);
    }
    equal(seen.length, asked);
  });
});

Deno.test("Prometheus: sends the token to a server with the configured CA, and no request to a server with another CA", async () => {
  await serving(true, async ({ url, host, ca, seen }) => {
    deepEqual(await queryPrometheus(url, "up", { hosts: [host], ca, token }), [7]);
    deepEqual(seen, ["Bearer sesame"]);
    await rejects(queryPrometheus(url, "up", { hosts: [host], ca: "", token }), /is unreachable/);
    deepEqual(seen, ["Bearer sesame"]);
  });
});

Deno.test("Prometheus: does not send the token without TLS", async () => {
  await serving(false, async ({ url, host, seen }) => {
    await queryPrometheus(url, "up", { hosts: [host], ca: "", token });
    deepEqual(seen, [undefined]);
  });
});

Deno.test("Prometheus: reports an unreadable token, and sends no request", async () => {
  await serving(true, async ({ url, host, ca, seen }) => {
    const broken = (): Promise<string> => Promise.reject(new Error("ENOENT /secret/place"));
    const message = `"${url}" was not queried: the worker cannot read its bearer token (prometheus-token-file)`;
    await rejects(queryPrometheus(url, "up", { hosts: [host], ca, token: broken }), { message });
    deepEqual(seen, []);
  });
});

Deno.test("Prometheus: gives up a silent or slow server at the deadline", async () => {
  const server = createPlainServer((request, response) => {
    if (request.url?.startsWith("/silent")) return;
    response.writeHead(200);
    const trickle = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(trickle));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const message = `"${url}" did not respond within 0.1 s`;
    for (const path of ["/silent", "/trickle"]) {
      await rejects(queryPrometheus(`${url}${path}`, "up", { ...noAccess, hosts: ["127.0.0.1"], timeoutMs: 100 }), {
        message,
      }, path);
    }
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

Deno.test("Prometheus: does not take the result of servers that could not read all of their data", async () => {
  const partial: object[] = [
    { warnings: ["remote_read: remote server http://far returned HTTP status 503"] },
    { warnings: ["PromQL warning: quantile value is 2", "receive series from Addr: store-1:10901: unavailable"] },
    { isPartial: true },
  ];
  for (const more of partial) {
    await serving(false, async ({ url, host }) => {
      const message = `"${url}" returned an incomplete result, because it could not read all of its data`;
      await rejects(queryPrometheus(url, "up", { ...noAccess, hosts: [host] }), { message });
    }, JSON.stringify({ ...JSON.parse(answer), ...more }));
  }
});

Deno.test("Prometheus: takes a result with notes about the query alone", async () => {
  const notes = {
    warnings: ['PromQL warning: bucket label "le" is missing (1:25)'],
    infos: ["PromQL info: metric might not be a counter (1:6)"],
    isPartial: false,
  };
  await serving(false, async ({ url, host }) => {
    deepEqual(await queryPrometheus(url, "up", { ...noAccess, hosts: [host] }), [7]);
  }, JSON.stringify({ ...JSON.parse(answer), ...notes }));
});
