import { deepEqual, equal, match, throws } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";

Deno.test("readConfig works with nothing set", () => {
  const config = readConfig({});
  deepEqual([config.TEMPORAL_ADDRESS, config.OSTLER_TASK_QUEUE, config.OSTLER_NAMESPACE, config.KUBECONFIG], [
    ...["127.0.0.1:7233", "ostler", "kube-system", undefined],
  ]);
  deepEqual([config.OSTLER_DEADLINES, config.OSTLER_CREDENTIAL_SECONDS], [{}, 86_400]);
});

Deno.test("readConfig takes an empty variable for one that is not set", () => {
  deepEqual(readConfig({ TEMPORAL_ADDRESS: "", OSTLER_HEALTH_PORT: "" }), readConfig({}));
});

Deno.test("readConfig parses numbers, lists, truths and deadlines", () => {
  const config = readConfig({
    OSTLER_HEALTH_PORT: "0",
    OSTLER_CLUSTER_DNS: "10.0.0.10, 10.0.0.11,",
    OSTLER_EXTERNAL_CLOUD_PROVIDER: "true",
    OSTLER_DEADLINES: '{"drain": "30m", "ready": 1000}',
  });
  equal(config.OSTLER_HEALTH_PORT, 0);
  deepEqual(config.OSTLER_CLUSTER_DNS, ["10.0.0.10", "10.0.0.11"]);
  equal(config.OSTLER_EXTERNAL_CLOUD_PROVIDER, true);
  deepEqual(config.OSTLER_DEADLINES, { drain: "30m", ready: 1000 });
});

Deno.test("readConfig names every wrong variable at once", () => {
  const wrong = {
    ...{ OSTLER_HEALTH_PORT: "http", OSTLER_CREDENTIAL_SECONDS: "60", OSTLER_EXTERNAL_CLOUD_PROVIDER: "yes" },
    ...{ OSTLER_DEADLINES: "{drain: 30m}", OSTLER_LOG_LEVEL: "LOUD" },
  };
  throws(() => readConfig(wrong), (error: Error) => {
    match(error.message, /^Cannot read the settings from the environment: /);
    for (const name of Object.keys(wrong)) match(error.message, new RegExp(`${name}: `));
    return true;
  });
});

Deno.test("readConfig does not repeat the values it refuses", () => {
  throws(() => readConfig({ OSTLER_DEADLINES: "hunter2" }), (error: Error) => !error.message.includes("hunter2"));
});
