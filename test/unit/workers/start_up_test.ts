/** What processes load for good: in each, libraries are most of the memory. */
import assert from "node:assert/strict";
import { importersOf, loadedBy } from "../../support/loaded_modules.ts";

for (const file of ["workers/controller.ts", "cli/connect/native_connection.ts"]) {
  Deno.test(`${file} loads of the worker's SDK the connection, and no bundler`, async () => {
    const parts = (await loadedBy(file)).filter((specifier) => specifier.includes("@temporalio/worker"));
    assert.notDeepEqual(parts, []);
    for (const part of parts) assert.match(part, /\/lib\/(connection|logger|runtime)\.js$/);
  });
}

for (const file of ["workers/controller.ts", "workers/worker.ts", "workers/webhook.ts", "cli/main.ts"]) {
  Deno.test(`${file} loads the Kubernetes client from one place, which a bundle can take`, async () => {
    const importers = await importersOf(file, "@kubernetes/client-node");
    assert.deepEqual(importers.map((url) => url.replace(/.*\/activities\//, "activities/")), [
      "activities/kube/client_node.ts",
    ]);
  });
}
