/**
 * Which libraries a process loads at its start and then keeps in memory; they are most of the memory of each process.
 */
import assert from "node:assert/strict";
import { importersOf, loadedBy } from "../../support/loaded_modules.ts";

for (const file of ["workers/controller.ts", "cli/connect/native_connection.ts"]) {
  Deno.test(`${file}: loads only the connection modules of Temporal's worker SDK, and no workflow bundler`, async () => {
    const parts = (await loadedBy(file)).filter((specifier) => specifier.includes("@temporalio/worker"));
    assert.notDeepEqual(parts, []);
    for (const part of parts) assert.match(part, /\/lib\/(connection|logger|runtime)\.js$/);
  });
}

for (const file of ["workers/controller.ts", "workers/worker.ts", "workers/webhook.ts", "cli/main.ts"]) {
  Deno.test(`${file}: loads the Kubernetes client from one module, which a bundle can replace`, async () => {
    const importers = await importersOf(file, "@kubernetes/client-node");
    assert.deepEqual(importers.map((url) => url.replace(/.*\/activities\//, "activities/")), [
      "activities/kube/client_node.ts",
    ]);
  });
}
