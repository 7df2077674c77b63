import assert from "node:assert/strict";
import { answer } from "../../../support/fake_kube.ts";
import { condition, FakeWorld, readyStatus, rollingStatus, start } from "../../../support/fake_world.ts";

const since = new Date(start - 60_000).toISOString();
const conditions = [condition("Ready", "False"), condition("Progressing", "False", since)];

for (const [name, phase] of [["retry", "Halted"], ["promote", "Halted"]] as const) {
  Deno.test(`ostler ${name} --wait: does not take a status from before an outage of the API server for the result`, async () => {
    const world = new FakeWorld();
    const before = readyStatus({ phase, message: "stuck", conditions });
    world.putPool(before);
    world.onSleep = () => {
      const passed = world.time - start;
      world.kube.onRequest = () => {
        if (passed <= 20_000) throw answer(503, "ServiceUnavailable");
      };
      world.putRollout(passed < 40_000 ? rollingStatus() : readyStatus());
    };
    const { code, out, err } = await world.run([name, "pool", "--wait"]);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /Converged/);
  });
}

Deno.test("ostler retry --wait: fails if the status is unchanged 15 s after the command", async () => {
  const world = new FakeWorld();
  world.putPool(readyStatus({ phase: "Halted", message: "stuck", conditions }));
  const { code, err } = await world.run(["retry", "pool", "--wait"]);
  assert.equal(code, 1);
  assert.match(err, /failed: Halted: stuck/);
  assert.equal(world.time, start + 15_000);
});
