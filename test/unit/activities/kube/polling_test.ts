import { deepEqual, rejects } from "node:assert/strict";
import { unavailable } from "../../../../activities/failures.ts";
import { poll } from "../../../../activities/kube/polling.ts";
import { eventually } from "../../../support/eventually.ts";
import { inActivity } from "../../../support/activity_context.ts";

function polled(answers: string[], until = Date.now() + 10_000): () => Promise<string> {
  let looks = 0;
  return () =>
    poll<string>({
      ...{ until, every: 1 },
      look: () => {
        const answer = answers[looks++];
        return Promise.resolve(answer === "ready" ? { answer } : { missing: answer ?? "nothing" });
      },
      expired: (missing) => new Error(`late: ${missing}`),
    });
}

Deno.test("poll: repeats the read until it returns an answer, and sends what is still missing as the heartbeat", async () => {
  const heartbeats: unknown[] = [];
  const answer = await inActivity(polled(["a", "b", "ready"]), { heartbeats });
  deepEqual([answer, heartbeats], ["ready", ["a", "b"]]);
});

Deno.test("poll: reads once more before it fails, when the deadline has passed already", async () => {
  deepEqual(await inActivity(polled(["ready"], 0)), "ready");
  await rejects(inActivity(polled(["a"], 0)), { message: "late: a" });
});

Deno.test("poll: stops when the activity is cancelled", async () => {
  const cancel = new AbortController();
  const work = inActivity(polled([], Date.now() + 60_000), { cancel: cancel.signal });
  cancel.abort();
  await rejects(work, { name: "CancelledFailure" });
});

Deno.test("poll: sends heartbeats during a long read", async () => {
  const heartbeats: unknown[] = [];
  const look = async (): Promise<{ answer: string }> => {
    await eventually("two heartbeats", () => heartbeats.length >= 2);
    return { answer: "ready" };
  };
  const work = (): Promise<string> => poll({ until: 0, beat: 1, look, expired: (missing) => new Error(missing) });
  deepEqual(await inActivity(work, { heartbeats }), "ready");
});

Deno.test("poll: with `unseen`, keeps waiting while the API server is unreachable, and reports the failed read in its heartbeats", async () => {
  const heartbeats: { waitsFor: string; lookedAt: number }[] = [];
  let looks = 0;
  const look = (): Promise<{ answer: string }> =>
    ++looks < 3 ? Promise.reject(unavailable("Failed to look: HTTP 503")) : Promise.resolve({ answer: "bad" });
  const wait = {
    until: Infinity,
    every: 1,
    look,
    unseen: (ms: number) => `unseen ${ms}`,
    expired: (why: string) => new Error(why),
  };
  deepEqual(await inActivity(() => poll(wait), { heartbeats }), "bad");
  deepEqual(heartbeats.map(({ waitsFor }) => waitsFor), ["Failed to look: HTTP 503", "Failed to look: HTTP 503"]);
});

Deno.test("poll: without `unseen`, fails when the API server is unreachable", async () => {
  const look = (): Promise<{ answer: string }> => Promise.reject(unavailable("Failed to look: HTTP 503"));
  await rejects(inActivity(() => poll({ until: Infinity, look, expired: (why) => new Error(why) })), {
    message: "Failed to look: HTTP 503",
  });
});

Deno.test("poll: passes the time of its last successful read on to the next attempt", async () => {
  const heartbeats: { lookedAt: number }[] = [];
  const lookedAt = Date.now() - 120_000;
  const given: [number, string | undefined][] = [];
  const unseen = (ms: number, answer: string | undefined): string => {
    given.push([Math.floor(ms / 10_000), answer]);
    return "unseen";
  };
  const wait = { until: Infinity, every: 1, unseen, expired: (why: string) => new Error(why) };
  const details = { waitsFor: "b", lookedAt };
  const look = (): Promise<{ missing: string }> => Promise.resolve({ missing: "b" });
  deepEqual(await inActivity(() => poll({ ...wait, look }), { heartbeats, heartbeatDetails: details }), "unseen");
  deepEqual(given, [[15, undefined]]);
});
