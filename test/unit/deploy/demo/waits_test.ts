import assert from "node:assert/strict";
import { Waits } from "../../../../deploy/local/demo/waits.ts";

Deno.test("Waits.until: returns the result of the work", async () => {
  assert.equal(await new Waits().until("an answer", Promise.resolve(42)), 42);
});

Deno.test("Waits.until: rejects with the first reason given to end(), even if end() was called before", async () => {
  const waits = new Waits();
  const waiting = waits.until("what never comes", new Promise(() => {}));
  waits.end(new Error("crashed"));
  waits.end(new Error("interrupted"));
  await assert.rejects(waiting, /^Error: crashed$/);
  await assert.rejects(waits.until("anything", new Promise(() => {})), /^Error: crashed$/);
});

Deno.test("Waits.limit: ends the demo at the limit, and names everything that it still waits for", async () => {
  const waits = new Waits();
  waits.limit(0.01);
  const waiting = ["3 machines to join", "a worker"].map((what) => waits.until(what, new Promise(() => {})));
  const [first] = await Promise.allSettled(waiting);
  assert.match(
    String(first?.status === "rejected" && first.reason),
    /still waiting for 3 machines to join and a worker$/,
  );
});

Deno.test("Waits.pending: omits a wait that has completed", async () => {
  const waits = new Waits();
  await waits.until("an answer", Promise.resolve());
  assert.equal(waits.pending, "nothing");
});
