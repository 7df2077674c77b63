import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { slimClient } from "../../../../deploy/local/site/client_bundle.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/**
 * A program that creates clients as a process of Ostler does when it starts, and checks that all its modules share the
 * same classes of the Kubernetes client.
 */
const program = `
  const place = import.meta.resolve("./activities/kube/client_node.ts");
  const { ApiException, CoreV1Api, KubeConfig } = await import("./activities/kube/client_node.ts");
  const { connectKube, pooled } = await import("./activities/kube/client.ts");
  const { statusOf } = await import("./activities/kube/status.ts");
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: "https://127.0.0.1:9" }, { name: "u" });
  const { core } = connectKube(pooled(config));
  const failure = await core.listNode().catch((error) => error.message);
  console.log(JSON.stringify({
    place,
    isClient: core instanceof CoreV1Api,
    failure,
    status: statusOf(new ApiException(409, "", "", {})),
  }));
`;

Deno.test("slimClient: bundles the parts of the Kubernetes client that Ostler uses, and the bundle works", async () => {
  const flags = await slimClient();
  const args = ["eval", "--no-check", "--cached-only", ...flags, program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  const { place, ...works } = JSON.parse(stdout);
  assert.match(place, /\/client-bundle\/[0-9a-f]{16}\/client_node\.js$/);
  assert.deepEqual(works, { isClient: true, failure: "fetch failed", status: 409 });
});
