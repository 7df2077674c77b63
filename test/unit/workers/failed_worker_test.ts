import { rejects } from "node:assert/strict";
import { throwOnceFailed } from "../../../workers/worker.ts";

const pauses = { look: 1, grace: 1 };

Deno.test("throwOnceFailed: rejects when a worker has failed, even if the worker never stops", async () => {
  const [sound, failing] = [{ getState: () => "RUNNING" }, { state: "RUNNING", getState: () => failing.state }];
  const thrown = throwOnceFailed([sound, failing], new AbortController().signal, pauses);
  failing.state = "FAILED";
  await rejects(thrown, { message: "Stopping: Temporal has refused the workers for a minute" });
});

Deno.test("throwOnceFailed: ignores workers that run or shut down normally, and rejects with AbortError when its AbortSignal aborts", async () => {
  const done = new AbortController();
  const states = ["RUNNING", "STOPPING", "DRAINING", "DRAINED", "STOPPED"].map((state) => ({ getState: () => state }));
  const watching = throwOnceFailed(states, done.signal, pauses);
  await new Promise((resolve) => setTimeout(resolve, 20));
  done.abort();
  await rejects(watching, { name: "AbortError" });
});
