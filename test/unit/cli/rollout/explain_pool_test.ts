import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { machine } from "../../../support/machine_objects.ts";
import { FakeWorld, rollingStatus, start } from "../../../support/fake_world.ts";

function world(status: object = rollingStatus()): FakeWorld {
  const made = new FakeWorld();
  made.putPool(status);
  made.kube.put("events", {
    metadata: { namespace: "fleet", name: "e" },
    involvedObject: { kind: "MachineDeployment", namespace: "fleet", name: "pool" },
    ...{ type: "Warning", reason: "JoinDeadlineExceeded", message: 'Machine "new-1" did not pass join stage "ready".' },
    lastTimestamp: new Date(start - 60_000).toISOString(),
  });
  return made;
}

Deno.test("fault U1 explain: accepts the namespace and name of a pool, and shows its phase, steps and Events", async () => {
  for (const name of ["fleet/pool", "md/fleet/pool", "pool"]) {
    const { code, out, err } = await world().run(["explain", name]);
    assert.deepEqual([code, err], [0, ""], name);
    assert.match(out, /^Pool "fleet\/pool" is in phase Rolling/);
    assert.match(out, /Machine "old-1" is in step Draining, which waits: pod apps\/web-1 is not evicted/);
    assert.match(out, /Last Events: .*Machine "new-1" did not pass join stage "ready"\.\n$/);
    assert.equal(out.trimEnd().includes("\n"), false, "one paragraph");
  }
  const { out } = await world().run(["explain", "fleet/pool", "-o", "json"]);
  const { pool, events } = JSON.parse(out) as { pool: object; events: unknown[] };
  assert.deepEqual([pool, events.length], [{ namespace: "fleet", name: "pool" }, 1]);
});

Deno.test("fault U1 explain: takes a machine by its namespace and name", async () => {
  const made = world();
  made.kube.put("machines", machine("m-1"));
  const { code, out } = await made.run(["explain", "fleet/m-1"]);
  assert.deepEqual([code, out.startsWith('Machine "m-1"')], [0, true]);
});

Deno.test("fault U1 explain: refuses a name that neither a pool nor a machine of the namespace has", async () => {
  const made = world();
  made.kube.put("machines", machine("m-1"));
  for (const name of ["fleet/other", "elsewhere/m-1", "sg/other", "nodepool/other"]) {
    const { code, out, err } = await made.run(["explain", name]);
    assert.deepEqual([code !== 0, out], [true, ""], name);
    assert.match(err, /^Failed to find /, name);
  }
});

const page = readFileSync(fileURLToPath(new URL("../../../../docs/how-to/observe.md", import.meta.url)), "utf8");
const runbooks = page.slice(page.indexOf("## Alerts"));
const commands = [...runbooks.matchAll(/`(ostler [^`]+)`/g)].map(([, text = ""]) => text.replaceAll(/\s+/g, " "));

Deno.test("fault U1 runbooks: docs/how-to/observe.md names at least five ostler commands", () =>
  assert.ok(new Set(commands).size >= 5));

for (const command of new Set(commands)) {
  Deno.test(`fault U1 runbook: the command ${command} exits with 0`, async () => {
    const [, ...words] = command.replaceAll("NAMESPACE/NAME", "fleet/pool").split(" ");
    // A command without NAMESPACE/NAME runs with --help, because its arguments may not exist in the test's world.
    const asked = command.includes("NAMESPACE/NAME") ? words : [...words, "--help"];
    const { code, err } = await world().run(asked);
    assert.deepEqual([code, err], [0, ""]);
  });
}
