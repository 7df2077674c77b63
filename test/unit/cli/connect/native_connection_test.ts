import assert from "node:assert/strict";
import process from "node:process";
import { inTime, quietRuntime } from "../../../../cli/connect/native_connection.ts";
import { Unreachable } from "../../../../cli/failure.ts";

Deno.test("quietRuntime: installs no signal handlers, and writes no logs to standard output", async () => {
  const signals = ["SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR2"];
  const before = signals.map((signal) => process.listenerCount(signal));
  const runtime = quietRuntime();
  try {
    assert.deepEqual(signals.map((signal) => process.listenerCount(signal)), before);
    assert.deepEqual(runtime.options.runtimeOptions.logExporter, { type: "console", filter: "OFF", format: null });
    assert.equal(quietRuntime(), runtime);
  } finally {
    await runtime.shutdown();
  }
});

Deno.test("inTime: fails when a connection takes too long, and reports why a connection failed", async () => {
  assert.equal(await inTime("there", Promise.resolve("connection")), "connection");
  await assert.rejects(
    inTime("there", new Promise(() => {}), 10),
    new Unreachable("Failed to reach Temporal at there: no answer within 0.01 s"),
  );
  const refused = Promise.reject(new Error('ConnectError, message: "refused", source: x'));
  await assert.rejects(inTime("there", refused), new Unreachable("Failed to reach Temporal at there: refused"));
});
