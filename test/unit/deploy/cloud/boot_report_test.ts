import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type BootReport, sendBootReport } from "../../../../deploy/local/cloud/boot/boot_report.ts";
import { startTlsServer } from "./tls_server.ts";

const report = { namespace: "ns", name: "reports" };
const said: BootReport = { phase: "setup", step: "packages", state: "Failed", message: "E: no such package" };

interface Call {
  what: string;
  body: string;
}

function noting(calls: Call[], status = 200): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    let body = "";
    request.on("data", (chunk) => body += chunk);
    request.on("end", () => {
      const { authorization, "content-type": type } = request.headers;
      calls.push({ what: `${request.method} ${request.url} ${type} ${authorization}`, body });
      response.writeHead(status).end("{}");
    });
  };
}

Deno.test("sendBootReport: patches only the machine's own key of the ConfigMap, with the token of its user-data", async () => {
  const calls: Call[] = [];
  await using server = await startTlsServer(noting(calls));
  await sendBootReport({ access: { server: server.url, ca: server.ca, token: "t" }, report, hostname: "w-1" }, said);
  const path = "/api/v1/namespaces/ns/configmaps/reports";
  assert.deepEqual(calls.map(({ what }) => what), [`PATCH ${path} application/merge-patch+json Bearer t`]);
  const { data } = JSON.parse(calls[0]?.body ?? "");
  assert.deepEqual(Object.keys(data), ["w-1"]);
  const { at, ...line } = JSON.parse(data["w-1"]);
  assert.deepEqual(line, said);
  assert.ok(Date.parse(at) > 0);
});

Deno.test("sendBootReport: does not throw when the API server refuses, is unreachable, or no ConfigMap is configured", async () => {
  const calls: Call[] = [];
  await using server = await startTlsServer(noting(calls, 403));
  const access = { server: server.url, ca: server.ca, token: "t" };
  await sendBootReport({ access, report, hostname: "w-1" }, said);
  await sendBootReport({ access: { ...access, server: "https://127.0.0.1:1" }, report, hostname: "w-1" }, said);
  await sendBootReport({ access, report: undefined, hostname: "w-1" }, said);
  assert.equal(calls.length, 1);
});
