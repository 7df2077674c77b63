import { deepEqual, equal, rejects } from "node:assert/strict";
import { Cache, Shelf } from "../../../../activities/kube/cache.ts";

/** Reads of a changing value, answered when the test releases them. */
class Source {
  readonly #held: (() => void)[] = [];
  value = 0;
  asked = 0;

  readonly read = async (): Promise<number> => {
    this.asked += 1;
    const { value } = this;
    await new Promise<void>((resolve) => this.#held.push(resolve));
    return value;
  };

  async letGo(): Promise<void> {
    await turn();
    this.#held.shift()?.();
    await turn();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("Cache: returns no answer that was read before the call, and shares one read among concurrent callers", async () => {
  const cache = new Cache();
  const source = new Source();
  const first = cache.read("it", source.read);
  source.value = 1;
  const others = [1, 2, 3].map(() => cache.read("it", source.read));
  await source.letGo();
  equal(await first, 0);
  source.value = 2;
  const late = cache.read("it", source.read);
  await source.letGo();
  deepEqual(await Promise.all(others), [1, 1, 1]);
  await source.letGo();
  equal(await late, 2);
  equal(source.asked, 3);
});

Deno.test("Cache: reads immediately for each call when no other call is waiting", async () => {
  const cache = new Cache();
  for (let nth = 1; nth <= 3; nth++) {
    equal(await cache.read("it", () => Promise.resolve(nth)), nth);
    await turn();
  }
});

Deno.test("Cache: reads again for the callers that wait when a read failed", async () => {
  const cache = new Cache();
  const { promise, reject } = Promise.withResolvers<number>();
  const first = cache.read("it", () => promise);
  const other = cache.read("it", () => Promise.resolve(7));
  reject(new Error("away"));
  await rejects(first, { message: "away" });
  equal(await other, 7);
});

Deno.test("Cache: shares no answer between clusters, or between different keys", async () => {
  const [one, other] = [new Cache(), new Cache()];
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = one.read("it", () => promise);
  equal(await other.read("it", () => Promise.resolve("theirs")), "theirs");
  equal(await one.read("that", () => Promise.resolve("that")), "that");
  resolve("ours");
  equal(await first, "ours");
});

Deno.test("Cache: starts another read when the first one hangs", async () => {
  const cache = new Cache();
  const { promise, resolve } = Promise.withResolvers<string>();
  const hanging = cache.read("it", () => promise);
  const { setTimeout } = globalThis;
  const timers: (() => void)[] = [];
  globalThis.setTimeout = ((timer: () => void) => void timers.push(timer)) as unknown as typeof setTimeout;
  const other = cache.read("it", () => Promise.resolve("answered"));
  globalThis.setTimeout = setTimeout;
  for (const timer of timers) timer();
  equal(await other, "answered");
  resolve("late");
  equal(await hanging, "late");
});

Deno.test("Cache: reuses an answer only while it is younger than the caller allows", async () => {
  const cache = new Cache();
  let asked = 0;
  const read = (): Promise<number> => Promise.resolve(++asked);
  const freshMs = 10_000;
  equal(await cache.read("it", read, { freshMs, now: 0 }), 1);
  equal(await cache.read("it", read, { freshMs, now: 9_999 }), 1);
  equal(await cache.read("it", read, { freshMs, now: 10_000 }), 2);
  equal(await cache.read("it", read, { now: 10_001 }), 3);
});

Deno.test("Cache: reads again when the clock was set back", async () => {
  const cache = new Cache();
  let asked = 0;
  const read = (): Promise<number> => Promise.resolve(++asked);
  const freshMs = 10_000;
  equal(await cache.read("it", read, { freshMs, now: 3_600_000 }), 1);
  await turn();
  equal(await cache.read("it", read, { now: 1_800_000 }), 2);
  equal(await cache.read("it", read, { freshMs, now: 0 }), 3);
  equal(await cache.read("it", read, { freshMs, now: 9_999 }), 3);
});

Deno.test("Cache: keeps no failed read, however fresh", async () => {
  const cache = new Cache();
  const options = { freshMs: 10_000, now: 0 };
  await rejects(cache.read("it", () => Promise.reject(new Error("away")), options), { message: "away" });
  equal(await cache.read("it", () => Promise.resolve(1), options), 1);
});

Deno.test("Cache: a shelf keeps as many values as its limit allows, and drops the oldest value", () => {
  const [cache, shelf, other] = [new Cache(), new Shelf<number>(2), new Shelf<number>(2)];
  for (const [key, value] of [["a", 1], ["b", 2], ["a", 3], ["c", 4]] as const) cache.shelf(shelf).set(key, value);
  deepEqual(["a", "b", "c"].map((key) => cache.shelf(shelf).get(key)), [3, undefined, 4]);
  equal(cache.shelf(other).get("a"), undefined);
  equal(new Cache().shelf(shelf).get("a"), undefined);
});
