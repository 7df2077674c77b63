import { deepEqual, equal, ok } from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openTracing } from "../../../../workers/telemetry/tracing.ts";

const program = fileURLToPath(new URL("../../../support/traced_run.ts", import.meta.url));

interface Span {
  name: string;
  traceId: string;
  parentSpanId: string;
  attributes: { key: string; value: { stringValue?: string } }[];
  events?: { name: string }[];
  status?: { code?: number; message?: string };
}

interface Exported {
  resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
}

/** Returns the spans that a process sends, and the text of everything that it sends. */
async function sentBy(environment: Record<string, string>): Promise<{ spans: Span[]; text: string }> {
  const texts: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const text = await request.text();
    if (new URL(request.url).pathname === "/v1/traces") texts.push(text);
    return new Response("{}");
  });
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  const output = await new Deno.Command(process.execPath, {
    args: ["run", "--no-prompt", "--cached-only", "--no-check", "--allow-read", "--allow-env", "--allow-sys", program],
    env: {
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
      ...{ OTEL_BSP_SCHEDULE_DELAY: "100", ...environment },
    },
  }).output();
  await server.shutdown();
  ok(output.success, new TextDecoder().decode(output.stderr));
  const spans = texts.flatMap((text) =>
    (JSON.parse(text) as Exported).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  );
  return { spans, text: texts.join() };
}

Deno.test("tracing: records one trace from a change to a Ready node, with machine and workflow on its spans", async () => {
  const { spans, text } = await sentBy({ OTEL_DENO: "true" });
  deepEqual(spans.map(({ name }) => name), ["change", "awaitReplacementJoined", "publishConfig"]);
  equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  equal(new Set(spans.map(({ parentSpanId }) => parentSpanId)).size, 1);
  const [, join, publish] = spans;
  const facts = Object.fromEntries(join?.attributes.map(({ key, value }) => [key, value.stringValue]) ?? []);
  deepEqual([facts["ostler.machine"], facts["ostler.pool"], facts["ostler.workflowId"]], [
    ...["m-1", "fleet/workers", "machine-deployment/fleet/workers"],
  ]);
  deepEqual(join?.events?.map(({ name }) => name), ["node Ready"]);
  deepEqual([publish?.status?.code, publish?.status?.message], [2, "NameCollision"]);
  equal(text.includes("hunter2"), false, "Expected spans without the message of the failure");
});

Deno.test("tracing: is off by default, and then sends no spans", async () => {
  equal(await openTracing(false), undefined);
  deepEqual(await sentBy({}), { spans: [], text: "" });
});
