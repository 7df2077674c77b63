/** What processes load for good: in each, libraries are most of the memory. */
import assert from "node:assert/strict";
import { loadedBy } from "../../support/loaded_modules.ts";

for (const file of ["workers/controller.ts", "cli/connect/native_connection.ts"]) {
  Deno.test(`${file} loads of the worker's SDK the connection, and no bundler`, async () => {
    const parts = (await loadedBy(file)).filter((specifier) => specifier.includes("@temporalio/worker"));
    assert.notDeepEqual(parts, []);
    for (const part of parts) assert.match(part, /\/lib\/(connection|logger|runtime)\.js$/);
  });
}
