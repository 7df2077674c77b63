import assert from "node:assert/strict";
import { Stage } from "../../../../deploy/local/demo/stage.ts";

Deno.test("Stage.until: returns the result of the work", async () => {
  assert.equal(await new Stage().until("an answer", Promise.resolve(42)), 42);
});

Deno.test("Stage.until: rejects with the first reason of the end, even an earlier one", async () => {
  const stage = new Stage();
  const waiting = stage.until("what never comes", new Promise(() => {}));
  stage.end(new Error("crashed"));
  stage.end(new Error("interrupted"));
  await assert.rejects(waiting, /^Error: crashed$/);
  await assert.rejects(stage.until("anything", new Promise(() => {})), /^Error: crashed$/);
});

Deno.test("Stage.limit: ends the demo with everything that it waited for", async () => {
  const stage = new Stage();
  stage.limit(0.01);
  const waits = ["3 machines to join", "a worker"].map((what) => stage.until(what, new Promise(() => {})));
  const [first] = await Promise.allSettled(waits);
  assert.match(
    String(first?.status === "rejected" && first.reason),
    /still waiting for 3 machines to join and a worker$/,
  );
});

Deno.test("Stage.waitsFor: forgets what has come", async () => {
  const stage = new Stage();
  await stage.until("an answer", Promise.resolve());
  assert.equal(stage.waitsFor, "nothing");
});
