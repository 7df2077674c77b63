import assert from "node:assert/strict";
import { installCommands } from "../../../../deploy/local/installation/install_commands.ts";

Deno.test("installCommands: returns the three commands of docs/how-to/install.md with given addresses", async () => {
  const { setup, install, look } = await installCommands({ temporal: "192.0.2.1:7000", registry: "192.0.2.1:5000" });
  assert.match(setup, /^deno task ostler setup .*--temporal-address 192\.0\.2\.1:7000 --temporal-namespace ostler$/);
  assert.match(install, /^helm install ostler deploy\/chart .*image\.repository=192\.0\.2\.1:5000\/ostler,/);
  assert.match(install, /settings\.temporal-address=192\.0\.2\.1:7000,settings\.temporal-namespace=ostler$/);
  assert.equal(look, "deno task ostler status -A");
});
