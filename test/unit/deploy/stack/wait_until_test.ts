import assert from "node:assert/strict";
import { NotYet, waitFor, waitUntil } from "../../../../deploy/local/process/wait_until.ts";

Deno.test("waitUntil: retries until the probe succeeds", async () => {
  let attempts = 0;
  const probe = () => ++attempts < 3 ? Promise.reject(new Error("not yet")) : Promise.resolve();
  await waitUntil(probe, { what: "the third attempt", timeoutMs: 10_000 });
  assert.equal(attempts, 3);
});

Deno.test("waitUntil: rejects at its deadline with the last reason", async () => {
  const probe = () => Promise.reject(new Error("connection refused"));
  await assert.rejects(
    waitUntil(probe, { what: '"web" ready', timeoutMs: 60 }),
    /^Error: Timed out after 0.06 s waiting for "web" ready: connection refused$/,
  );
});

Deno.test("waitUntil: pauses after a slow probe for three times the duration of the probe", async () => {
  const [probeMs, timeoutMs] = [100, 1_000];
  const begun = performance.now();
  const at: number[] = [];
  const probe = async () => {
    at.push(performance.now() - begun);
    await new Promise((done) => setTimeout(done, probeMs));
    throw new Error("not yet");
  };
  await assert.rejects(waitUntil(probe, { what: "it", timeoutMs }), /not yet/);
  assert.ok(at.length <= 4, `It was probed at ${at.map(Math.round)} ms`);
  const rests = at.slice(1).map((ms, before) => ms - (at[before] ?? 0) - probeMs);
  assert.ok((rests[0] ?? 0) >= 3 * probeMs - 5, `It rested for ${rests.map(Math.round)} ms`);
});

Deno.test("waitUntil: rejects at its deadline when a probe never returns", async () => {
  const begun = performance.now();
  await assert.rejects(
    waitUntil(() => new Promise(() => {}), { what: "an answer", timeoutMs: 50 }),
    /the last check did not end in time$/,
  );
  assert.ok(performance.now() - begun < 5_000);
});

Deno.test("waitUntil: rejects with the signal's reason as soon as the signal aborts", async () => {
  const abort = new AbortController();
  const probe = () => {
    abort.abort(new Error("Interrupted"));
    return new Promise<void>(() => {});
  };
  await assert.rejects(
    waitUntil(probe, { what: "it", timeoutMs: 600_000, signal: abort.signal }),
    /^Error: Interrupted$/,
  );
});

Deno.test("waitUntil: does not probe when its signal has already aborted", async () => {
  const probe = () => assert.fail("was probed");
  const signal = AbortSignal.abort(new Error("Interrupted"));
  await assert.rejects(waitUntil(probe, { what: "it", timeoutMs: 1_000, signal }), /^Error: Interrupted$/);
});

Deno.test("waitUntil: rejects immediately with a final error, but retries after NotYet", async () => {
  const errors = [new NotYet("2 of 3"), new Error("refused")];
  const probe = () => Promise.reject(errors.shift());
  await assert.rejects(waitUntil(probe, { what: "it", timeoutMs: 600_000, isFinal: () => true }), /^Error: refused$/);
  assert.equal(errors.length, 0);
});

Deno.test("waitUntil: gives up after the given number of attempts, also before its deadline", async () => {
  const probe = () => Promise.reject(new Error("connection refused"));
  await assert.rejects(
    waitUntil(probe, { what: "it", timeoutMs: 600_000, attempts: 2 }),
    /^Error: Gave up after 2 attempts waiting for it: connection refused$/,
  );
});

Deno.test("waitFor: resolves with the first value that is neither undefined nor false", async () => {
  const seen = [undefined, false, 0] as const;
  let looks = 0;
  assert.equal(await waitFor(() => seen[looks++], { what: "a number", timeoutMs: 10_000 }), 0);
  assert.equal(looks, 3);
});

Deno.test("waitFor: rejects at its deadline with the last value that it read", async () => {
  const options = { what: "it", timeoutMs: 60 };
  await assert.rejects(waitFor(() => undefined, options), /waiting for it: last seen: nothing$/);
  const look = () => {
    throw new NotYet({ ready: 2 });
  };
  await assert.rejects(waitFor(look, options), /waiting for it: last seen: {"ready":2}$/);
});
