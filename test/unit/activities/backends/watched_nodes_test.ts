import { deepEqual, equal } from "node:assert/strict";
import { illnessOf, watchedNodes } from "../../../../activities/backends/watched_nodes.ts";

const metadata = { name: "x", uid: "u", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z" };

Deno.test("watchedNodes: keeps the status of conditions, and no heartbeats", () => {
  const ready = { type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z", message: "well" };
  deepEqual(watchedNodes.schema.parse({ metadata, status: { conditions: [ready] } }), {
    conditions: { Ready: "True" },
  });
  deepEqual(watchedNodes.schema.parse({ metadata }), { conditions: {} });
});

Deno.test("illnessOf: returns why a node is unhealthy: it is missing, is not Ready, or has a condition of the policy", () => {
  const kernel = [{ type: "KernelDeadlock", status: "True" }];
  equal(illnessOf({ conditions: { Ready: "True", KernelDeadlock: "False" } }, kernel), "");
  equal(illnessOf({ conditions: { Ready: "Unknown" } }, kernel), "Ready=Unknown");
  equal(illnessOf({ conditions: { Ready: "True", KernelDeadlock: "True" } }, kernel), "KernelDeadlock=True");
  equal(illnessOf({ conditions: { Ready: "True", KernelDeadlock: "True" } }, []), "");
  equal(illnessOf({ conditions: {} }, []), "Ready=Unknown");
  equal(illnessOf(undefined, []), "Missing");
});
