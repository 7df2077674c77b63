/** A process that traces a change and its steps; it needs OTEL_DENO=true and a receiver of OpenTelemetry. */
import type { Context } from "@temporalio/activity";
import { setTimeout } from "node:timers/promises";
import { refused } from "../../activities/failures.ts";
import { openTracing } from "../../workers/telemetry/tracing.ts";

const tracing = await openTracing();
if (tracing) {
  const [pool, runId] = [{ namespace: "fleet", name: "workers" }, "run-1"];
  const workflowId = "machine-deployment/fleet/workers";
  tracing.told({ pool: "fleet/workers", generation: 7, workflowId, runId, since: Date.now() - 50 });
  const step = async (activityType: string, input: object, done: () => Promise<unknown>): Promise<void> => {
    const info = { activityType, attempt: 1, workflowExecution: { workflowId, runId } };
    const { inbound } = tracing.steps({ info } as unknown as Context);
    await inbound?.execute?.({ args: [input], headers: {} }, done).catch(() => undefined);
  };
  const joined = [{ machine: "m-1", node: "w-1", image: "i", kubelet: "1", readyAt: Date.now() }];
  await step(
    "awaitReplacementJoined",
    { pool, machine: "m-1" },
    () => Promise.resolve({ joined, failed: [], gone: [] }),
  );
  await step("publishConfig", { pool }, () => Promise.reject(refused("NameCollision", "hunter2")));
  // Waits longer than spans are buffered, so that all are exported.
  await setTimeout(600);
}
