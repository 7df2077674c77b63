import assert from "node:assert/strict";
import { currentOwner, writeOwner } from "../../../../deploy/local/engine/owner.ts";
import { machineLabel, ownerLabel, sweepDeadRuns, sweepRun } from "../../../../deploy/local/engine/sweep.ts";
import { FakeEngine } from "./fake_engine.ts";
import { FakeProc } from "./fake_proc.ts";

const empty = { "GET /containers/json": [], "GET /networks": [], "GET /volumes": { Volumes: null } };

function labels(runId: string, owner: string): Record<string, Record<string, string>> {
  return { Labels: { [machineLabel]: runId, [ownerLabel]: owner } };
}

Deno.test("sweepRun: removes containers, then networks and volumes, by the run's label only", async () => {
  await using engine = await FakeEngine.start({
    "GET /containers/json": [{ Id: "c1" }],
    "GET /networks": [{ Id: "n1" }],
    "GET /volumes": { Volumes: [{ Name: "v1" }] },
  });
  await sweepRun(engine.api, "run1", { most: 3, pauseMs: 1 });
  const asked = engine.calls.filter((call) => call.startsWith("GET"));
  assert.ok(asked.every((call) => call.includes(`{"label":["${machineLabel}=run1"]}`)), asked.join("\n"));
  const removed = engine.calls.filter((call) => call.startsWith("DELETE"));
  const container = "DELETE /containers/c1?force=1&v=1";
  assert.deepEqual(
    removed.slice(0, -2),
    [container, container, container],
    "Expected three attempts, because it still exists at each read",
  );
  assert.deepEqual(removed.slice(-2), ["DELETE /networks/n1", "DELETE /volumes/v1"]);
});

Deno.test("sweepDeadRuns: removes objects of dead owners, and not those of living or unknown owners", async () => {
  await using proc = await FakeProc.create();
  const owner = await currentOwner(proc.path);
  const dead = writeOwner({ ...owner, startedAt: "1" });
  await using engine = await FakeEngine.start({
    ...empty,
    "GET /networks": [
      { Id: "n1", ...labels("living", writeOwner(owner)) },
      { Id: "n2", ...labels("dead", dead) },
      { Id: "n3", Labels: { [machineLabel]: "nobody" } },
    ],
  });
  assert.deepEqual(await sweepDeadRuns(engine.api, proc.path), ["dead"]);
  const asked = engine.calls.filter((call) => call.includes(`${machineLabel}=`));
  assert.ok(asked.length > 0 && asked.every((call) => call.includes(`${machineLabel}=dead`)), asked.join("\n"));
});

Deno.test("DockerApi: treats the deletion of an absent object as success, and rejects other requests with the engine's reason", async () => {
  await using engine = await FakeEngine.start({});
  const api = engine.api;
  await api.delete("/containers/gone");
  const expected = { name: "DockerRefusal", status: 404, reason: "not faked" };
  await assert.rejects(api.get("/containers/gone/json"), expected);
});
