import { CancelledFailure } from "@temporalio/common";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { refused } from "../../../activities/failures.ts";
import {
  DrainMeasure,
  measuredJoin,
  measuredPublish,
  measuredUpdates,
  measuredWait,
  type Measures,
  withFailuresCounted,
} from "../../../activities/measures.ts";
import { createActivities } from "../../../activities/mod.ts";
import type { DrainOutcome, Published } from "../../../workflows/contracts/mod.ts";
import { inActivity } from "../../support/activity_context.ts";
import { FakeKube } from "../../support/fake_kube.ts";
import { machine, node, pool as machinePool } from "../../support/machine_objects.ts";

const pool = { namespace: "fleet", name: "workers" };
const drained: DrainOutcome = { outcome: "Drained", evicted: 2 };
const blocked: DrainOutcome = { outcome: "Blocked", evicted: 0, blockers: [], key: "k" };

/** Records measurements, times in whole seconds. */
function notes(): Measures & { taken: string[] } {
  const taken: string[] = [];
  return {
    taken,
    failed: (activity, type) => void taken.push(`failed ${activity} ${type}`),
    published: (seconds, news) => void taken.push(`published ${Math.round(seconds)} ${news}`),
    joined: (seconds, { image }) => void taken.push(`joined ${Math.round(seconds)} ${image}`),
    staged: (seconds, { image }) => void taken.push(`staged ${Math.round(seconds)} ${image}`),
    booted: (seconds, { image }, verdict) => void taken.push(`booted ${Math.round(seconds)} ${image} ${verdict}`),
    drained: (seconds, { image }) => void taken.push(`drained ${Math.round(seconds)} ${image}`),
    underWay: (_, rungs) => void taken.push(`under way ${rungs.join("+") || "none"}`),
  };
}

function secondsAgo(seconds: number): { scheduledTimestampMs: number } {
  return { scheduledTimestampMs: Date.now() - seconds * 1000 };
}

Deno.test("measures: count a failed attempt by activity and type of failure, and do not count a cancelled attempt", async () => {
  const measures = notes();
  const failures = [refused("NameCollision", "x"), new TypeError("x"), new CancelledFailure("x")];
  const steps = withFailuresCounted(measures, {
    publishConfig: ({ nth }: { nth: number }) => Promise.reject<void>(failures[nth]),
  });
  for (const nth of [0, 1, 2]) await rejects(inActivity(() => steps.publishConfig({ nth })));
  await rejects(inActivity(() => steps.publishConfig({ nth: 0 }), { cancel: AbortSignal.abort() }));
  deepEqual(measures.taken, ["failed publishConfig NameCollision", "failed publishConfig Other"]);
});

Deno.test("measures: leave the activities unchanged when no meter is configured", () => {
  const steps = { publishConfig: (_: object) => Promise.resolve() };
  equal(withFailuresCounted(undefined, steps), steps);
});

Deno.test("measures: count the duration of a publication from when it was first scheduled, including the time in the task queue and earlier attempts", async () => {
  const measures = notes();
  const published = { news: "Published" } as Published;
  await inActivity(() => measuredPublish(measures, () => Promise.resolve(published)), {
    ...secondsAgo(20),
    attempt: 3,
  });
  deepEqual(measures.taken, ["published 20 Published"]);
});

Deno.test("measures: count the duration of a join until its node was Ready, and each join only once", async () => {
  const measures = notes();
  const joined = [50, 200].map((ago, nth) => {
    return { machine: `m-${nth}`, node: "n", image: `img-${nth}`, kubelet: "1", readyAt: Date.now() - ago * 1000 };
  });
  const verdict = await inActivity(
    () =>
      measuredJoin(measures, pool, (told) => {
        told(["ready"]);
        return Promise.resolve({ joined, failed: [], gone: [] });
      }),
    secondsAgo(120),
  );
  equal("joined" in verdict && verdict.joined.length, 2);
  deepEqual(measures.taken, ["under way none", "under way ready", "under way none", "joined 70 img-0"]);
});

Deno.test("measures: count a drain that was interrupted and resumed as one drain", async () => {
  const measures = notes();
  const drains = new DrainMeasure(measures);
  const order = { pool, node: "w-1" };
  const image = (): Promise<string> => Promise.resolve("img-1");
  await inActivity(() => drains.of(order, () => Promise.resolve(blocked), image), secondsAgo(90));
  await inActivity(() => drains.of({ pool, node: "w-2" }, () => Promise.resolve(drained), image), secondsAgo(10));
  await inActivity(() => drains.of(order, () => Promise.resolve(drained), image), secondsAgo(5));
  await inActivity(() => drains.of(order, () => Promise.resolve(drained), image), secondsAgo(1));
  deepEqual(measures.taken.filter((taken) => !taken.startsWith("under")), [
    ...["drained 10 img-1", "drained 90 img-1", "drained 1 img-1"],
  ]);
});

Deno.test("measures: record the machine's image for a drain that an earlier attempt reported as blocked, like for any other drain", async () => {
  const [kube, measures] = [new FakeKube(), notes()];
  kube.put("machines", machine("a"));
  kube.put("nodes", node("node-a"));
  const steps = createActivities(
    { kube: kube.client, measures, forecast: () => ({}) as never } as unknown as Parameters<typeof createActivities>[0],
  );
  const rules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" } as const;
  const order = {
    pool: machinePool,
    machine: "a",
    node: "node-a",
    until: Date.now() + 60_000,
    rules,
    known: "k",
    force: false,
  };
  const images = async (drain: typeof steps.awaitNodeDrained): Promise<string[]> => {
    measures.taken.length = 0;
    equal(((await inActivity(() => drain(order), secondsAgo(3))) as DrainOutcome).outcome, "Drained");
    return measures.taken.filter((taken) => taken.startsWith("drained"));
  };
  const [first, again] = [await images(steps.awaitNodeEmptied), await images(steps.awaitNodeDrained)];
  deepEqual(again, first);
  match(again.join(), /^drained 3 \S+$/);
});

Deno.test("measures: count a drain when the image of its machine is unknown", async () => {
  const measures = notes();
  const drains = new DrainMeasure(measures);
  const lost = (): Promise<string> => Promise.reject(new Error("away"));
  const outcome = await inActivity(
    () => drains.of({ pool, node: "n" }, () => Promise.resolve(drained), lost),
    secondsAgo(4),
  );
  equal(outcome, drained);
  ok(measures.taken.includes("drained 4 "));
});

Deno.test("measures: count the download and the boot of an update in place, but no step without a download or a boot", async () => {
  const measures = notes();
  const update = { pool, machine: "n", image: "img-1", retriedAt: 0, until: 0 };
  const steps = measuredUpdates(measures, {
    awaitImageStaged: ({ machine }) => Promise.resolve({ outcome: machine === "n" ? "Staged" : "Booted" }),
    awaitBootOrdered: () => Promise.resolve({ outcome: "Gone" }),
    awaitNodeBooted: () => Promise.resolve({ verdict: "RolledBack", evidence: "" }),
    ensureImageFailed: () => Promise.resolve(),
    readMaker: () => Promise.resolve(null),
    ensureNodeReplaced: () => Promise.resolve("Gone"),
    awaitNodeGone: () => Promise.resolve(true),
  });
  await inActivity(() => steps.awaitImageStaged(update), secondsAgo(30));
  await inActivity(() => steps.awaitImageStaged({ ...update, machine: "other" }), secondsAgo(30));
  await inActivity(() => steps.awaitNodeBooted({ ...update, bootId: "b" }), secondsAgo(60));
  await inActivity(() => steps.awaitNodeBooted({ ...update, bootId: "" }), secondsAgo(60));
  deepEqual(measures.taken.filter((taken) => !taken.startsWith("under")), [
    ...["staged 30 img-1", "booted 60 img-1 RolledBack"],
  ]);
});

Deno.test("measures: no longer count a wait as under way after it failed", async () => {
  const measures = notes();
  await rejects(measuredWait(measures, ["gone"], () => Promise.reject(new Error("x"))));
  deepEqual(measures.taken, ["under way gone", "under way none"]);
});
