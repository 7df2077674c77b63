import assert from "node:assert/strict";
import process from "node:process";
import { quietRuntime } from "../../../../cli/connect/native_connection.ts";

Deno.test("quietRuntime leaves signals to the process, and standard output to the command", async () => {
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
