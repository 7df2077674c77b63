import { deepEqual, equal } from "node:assert/strict";
import { PoolNotifier } from "../../../workers/pool_notifier.ts";
import type { PoolNews, WatchedPool } from "../../../workers/pool_notifier.ts";
import { eventually } from "../../support/eventually.ts";

const key = "fleet/pool";

function watched(overrides: Partial<WatchedPool> = {}): WatchedPool {
  return {
    ...{ pool: { namespace: "fleet", name: "pool" }, generation: 1, isNumbered: true, observed: "g1" },
    ...{ reported: "g1", isOpen: false, isLeft: false, policies: "p@1", illness: "" },
    ...overrides,
  };
}

/** A PoolNotifier, the pools that it watches, which tests change, and the signals that it has sent. */
class Desk {
  readonly told: PoolNews[] = [];
  readonly pools = new Map<string, WatchedPool>();
  readonly notifier: PoolNotifier;
  looks = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #tell: (key: string) => void = () => {};

  constructor(
    first: WatchedPool[] = [],
    { lookEvery = 60_000, numberedIn = 60_000, refuse = (_: PoolNews): boolean => false } = {},
  ) {
    for (const each of first) this.pools.set(`${each.pool.namespace}/${each.pool.name}`, each);
    const watch = {
      onChange: (listener: (key: string) => void): void => void (this.#tell = listener),
      find: (of: string): WatchedPool | undefined => {
        this.looks += 1;
        return this.pools.get(of);
      },
      keys: (): string[] => [...this.pools.keys()],
    };
    const notify = (news: PoolNews): Promise<void> => {
      if (refuse(news)) return Promise.reject(new Error("Temporal is down"));
      this.told.push(news);
      return Promise.resolve();
    };
    const log = { info: () => {}, warn: () => {} };
    this.notifier = new PoolNotifier(watch, { notify, log, lookEvery, numberedIn });
    for (const of of watch.keys()) this.#tell(of);
    this.#running = this.notifier.run(this.#stop.signal);
  }

  change(overrides: Partial<WatchedPool>): void {
    this.pools.set(key, watched(overrides));
    this.#tell(key);
  }

  set(pool: WatchedPool): void {
    const of = `${pool.pool.namespace}/${pool.pool.name}`;
    this.pools.set(of, pool);
    this.#tell(of);
  }

  /** Notifies the PoolNotifier of each pool once more, and waits until it has read all pools. */
  async lookAgain(): Promise<void> {
    for (const of of this.pools.keys()) this.#tell(of);
    const wanted = this.looks + this.pools.size;
    await eventually("a check of all pools", () => this.looks >= wanted);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  toldOf(count: number): Promise<true> {
    return eventually(`${count} notices`, () => this.told.length >= count);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

Deno.test("PoolNotifier: sends one signal for each change of a pool without a rollout", async () => {
  const desk = new Desk([watched({ reported: undefined })], { lookEvery: 1 });
  await desk.toldOf(1);
  desk.change({ reported: undefined });
  desk.change({ observed: "g2", generation: 2 });
  await desk.toldOf(2);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [1, 2]);
});

Deno.test("PoolNotifier: delays the signal for a change until machine-controller has observed the change, because a rollout that starts earlier would only wait for that", async () => {
  const desk = new Desk([watched()], { lookEvery: 1 });
  desk.change({ observed: "g2", generation: 2, isNumbered: false });
  const looks = desk.looks;
  await eventually("some looks", () => desk.looks > looks + 3);
  deepEqual(desk.told, []);
  desk.change({ observed: "g2", generation: 2 });
  await desk.toldOf(1);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [2]);
});

Deno.test("PoolNotifier: signals a change that machine-controller does not observe in time, so that a rollout starts and reports what it waits for", async () => {
  const desk = new Desk([watched()], { lookEvery: 1, numberedIn: 5 });
  desk.change({ observed: "g2", generation: 2, isNumbered: false });
  await desk.toldOf(1);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [2]);
});

Deno.test("PoolNotifier: delays the signal for a change while machine-controller observes changes of other pools, unless it observes a later change first", async () => {
  const { now } = performance;
  let ms = performance.now();
  performance.now = () => ms;
  const of = (name: string, isNumbered: boolean): WatchedPool =>
    watched({ pool: { namespace: "fleet", name }, observed: "g2", generation: 2, isNumbered });
  const desk = new Desk([of("one", false), of("other", false)], { lookEvery: 1, numberedIn: 5_000 });
  const told = (): string[] => desk.told.map(({ pool }) => pool.name);
  const look = (): Promise<void> => desk.lookAgain();
  try {
    await look();
    ms += 4_000;
    desk.set(of("one", true));
    await desk.toldOf(1);
    ms += 4_000;
    await look();
    deepEqual(told(), ["one"]);
    desk.set(of("late", false));
    await look();
    ms += 500;
    desk.set(of("late", true));
    await desk.toldOf(3);
    deepEqual(told(), ["one", "late", "other"]);
  } finally {
    performance.now = now;
    await desk.close();
  }
});

Deno.test("PoolNotifier: signals a change that machine-controller has not observed after 10 minutes, the time that a rollout would wait for it", async () => {
  const { now } = performance;
  let ms = Math.round(performance.now());
  performance.now = () => ms;
  const of = (name: string, isNumbered: boolean): WatchedPool =>
    watched({ pool: { namespace: "fleet", name }, observed: "g2", generation: 2, isNumbered });
  const names = Array.from({ length: 14 }, (_, nth) => `pool${nth}`);
  const desk = new Desk([...names, "pool"].map((name) => of(name, false)), { lookEvery: 1, numberedIn: 60_000 });
  try {
    await desk.lookAgain();
    for (const [nth, name] of names.entries()) {
      const isTold = desk.told.some(({ pool }) => pool.name === "pool");
      equal(isTold, nth * 50 >= 600, `after ${nth * 50} s`);
      ms += 50_000;
      desk.set(of(name, true));
      await desk.lookAgain();
    }
  } finally {
    performance.now = now;
    await desk.close();
  }
});

Deno.test("PoolNotifier: signals a running rollout immediately when its pool changes", async () => {
  const run = { workflowId: "machine-deployment/fleet/pool", runId: "r" };
  const desk = new Desk([watched({ isOpen: true, run })]);
  await desk.toldOf(1);
  desk.change({ isOpen: true, run, observed: "g2", generation: 2, isNumbered: false });
  await desk.toldOf(2);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [1, 2]);
});

Deno.test("PoolNotifier: sends no signal for a change that a rollout has already read", async () => {
  const desk = new Desk([watched()], { lookEvery: 1 });
  desk.change({});
  desk.change({ observed: "g2", generation: 2 });
  await desk.toldOf(1);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [2]);
});

Deno.test("PoolNotifier: retries a failed signal", async () => {
  let refusals = 0;
  const desk = new Desk([], { lookEvery: 1, refuse: () => refusals++ < 3 });
  desk.change({ observed: "g2" });
  await desk.toldOf(1);
  await desk.close();
  equal(refusals, 4);
  equal(desk.told.length, 1);
});

Deno.test("PoolNotifier: does not delay the retry of a failed signal when the wall clock is set back", async () => {
  const { now } = Date;
  let refusals = 0;
  const refuse = (): boolean => {
    refusals += 1;
    // After the second refusal, the time of the next check of all pools is known.
    if (refusals === 2) Date.now = () => now() - 3_600_000;
    return refusals < 4;
  };
  const desk = new Desk([watched({ observed: "g2" })], { lookEvery: 1, refuse });
  try {
    await desk.toldOf(1);
  } finally {
    Date.now = now;
    await desk.close();
  }
});

Deno.test("PoolNotifier: signals every pool, even if one signal fails", async () => {
  const names = Array.from({ length: 50 }, (_, nth) => `pool-${nth}`);
  const pools = names.map((name) => watched({ pool: { namespace: "fleet", name }, reported: undefined }));
  const desk = new Desk(pools, { refuse: ({ pool }) => pool.name === "pool-7" });
  await desk.toldOf(49);
  await desk.close();
  deepEqual(desk.told.map(({ pool }) => pool.name).sort(), names.filter((name) => name !== "pool-7").sort());
});

Deno.test("PoolNotifier.isNews: forgets a deleted pool, so that a new pool with the same name is signalled", async () => {
  const desk = new Desk();
  desk.change({ reported: undefined });
  await desk.toldOf(1);
  equal(desk.notifier.isNews(key, watched({ reported: undefined })), false);
  desk.pools.delete(key);
  desk.change({ reported: undefined, observed: "other" });
  await desk.toldOf(2);
  await desk.close();
});

Deno.test("PoolNotifier.isNews: returns true for an open rollout, even if it has read the change", async () => {
  const desk = new Desk();
  equal(desk.notifier.isNews(key, watched({ isOpen: true })), true);
  equal(desk.notifier.isNews(key, watched({ isOpen: false })), false);
  await desk.close();
});

Deno.test("PoolNotifier: signals once when a node becomes unhealthy, and once when it recovers, also without a running rollout", async () => {
  const desk = new Desk([watched()], { lookEvery: 1 });
  desk.change({ illness: "a", generation: 2 });
  await desk.toldOf(1);
  desk.change({ illness: "a", generation: 3 });
  desk.change({ illness: "", generation: 4 });
  await desk.toldOf(2);
  desk.change({ observed: "g2", generation: 5 });
  await desk.toldOf(3);
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [2, 4, 5]);
});

Deno.test("PoolNotifier: signals a node that was unhealthy at the start", async () => {
  const desk = new Desk([watched({ illness: "a" })]);
  await desk.toldOf(1);
  await desk.close();
  equal(desk.told.length, 1);
});

Deno.test("PoolNotifier: signals when a policy is changed, added or deleted, but not for the policies that it finds at the start", async () => {
  const desk = new Desk([watched()], { lookEvery: 1 });
  await eventually("the first check", () => desk.looks > 0);
  for (const [nth, policies] of ["p@2", "p@2,q@1", ""].entries()) {
    desk.change({ policies, generation: nth + 2 });
    await desk.toldOf(nth + 1);
  }
  await desk.close();
  deepEqual(desk.told.map(({ generation }) => generation), [2, 3, 4]);
});

Deno.test("fault E4: PoolNotifier: marks a signal as a repeat if a rollout has already read the signalled desired state, or an earlier signal reported that state", async () => {
  const desk = new Desk([watched({ isOpen: true })], { lookEvery: 1 });
  await desk.toldOf(1);
  desk.change({ isOpen: true, policies: "p@2" });
  await desk.toldOf(2);
  desk.change({ isOpen: true, policies: "p@2", observed: "g2" });
  await desk.toldOf(3);
  desk.change({ isOpen: true, policies: "p@3", observed: "g2", reported: undefined });
  await desk.toldOf(4);
  await desk.close();
  deepEqual(desk.told.map(({ isRepeat = false }) => isRepeat), [true, true, false, true]);
});

for (const isOpen of [false, true]) {
  const previous = isOpen ? "a replaced rollout" : "an ended rollout";
  Deno.test(`PoolNotifier: marks a second signal for one desired state as a repeat while the Rollout still reports ${previous}`, async () => {
    const desk = new Desk([watched({ isOpen, observed: "g2" })], { lookEvery: 1 });
    await desk.toldOf(1);
    desk.change({ isOpen, observed: "g2", policies: "p@2" });
    await desk.toldOf(2);
    await desk.close();
    deepEqual(desk.told.map(({ isRepeat = false }) => isRepeat), [false, true]);
  });
}

Deno.test("PoolNotifier.isNews: returns false for a pool whose rollout was stopped, until its desired state changes", async () => {
  const desk = new Desk();
  equal(desk.notifier.isNews(key, watched({ isLeft: true, illness: "a" })), false);
  equal(desk.notifier.isNews(key, watched({ isLeft: true, observed: "g2" })), true);
  await desk.close();
});

Deno.test("PoolNotifier: signals an unhealthy node again after the signal failed", async () => {
  let refusals = 0;
  const desk = new Desk([watched({ illness: "a" })], { lookEvery: 1, refuse: () => refusals++ < 2 });
  await desk.toldOf(1);
  await desk.close();
  equal(refusals, 3);
});

Deno.test("PoolNotifier: sends the digest of the desired state only when no policy and no node changed since the last signal", async () => {
  const desk = new Desk([watched()], { lookEvery: 1 });
  for (const [nth, change] of [{ observed: "g2" }, { observed: "g2", policies: "p@2" }].entries()) {
    desk.change(change);
    await desk.toldOf(nth + 1);
  }
  desk.change({ observed: "g3", policies: "p@3" });
  await desk.toldOf(3);
  await desk.close();
  deepEqual(desk.told.map(({ observed }) => observed), ["g2", undefined, undefined]);
});
