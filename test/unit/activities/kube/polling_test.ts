import { deepEqual, rejects } from "node:assert/strict";
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

Deno.test("poll looks until there is an answer, with what is missing as its heartbeat", async () => {
  const heartbeats: unknown[] = [];
  const answer = await inActivity(polled(["a", "b", "ready"]), { heartbeats });
  deepEqual([answer, heartbeats], ["ready", ["a", "b"]]);
});

Deno.test("poll looks once more when its time has come already", async () => {
  deepEqual(await inActivity(polled(["ready"], 0)), "ready");
  await rejects(inActivity(polled(["a"], 0)), { message: "late: a" });
});

Deno.test("poll stops when the activity is cancelled", async () => {
  const cancel = new AbortController();
  const work = inActivity(polled([], Date.now() + 60_000), { cancel: cancel.signal });
  cancel.abort();
  await rejects(work, { name: "CancelledFailure" });
});

Deno.test("poll beats during a look that takes long", async () => {
  const heartbeats: unknown[] = [];
  const look = async (): Promise<{ answer: string }> => {
    await eventually("two heartbeats", () => heartbeats.length >= 2);
    return { answer: "ready" };
  };
  const work = (): Promise<string> => poll({ until: 0, beat: 1, look, expired: (missing) => new Error(missing) });
  deepEqual(await inActivity(work, { heartbeats }), "ready");
});
