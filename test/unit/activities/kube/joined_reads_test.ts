import { deepEqual, equal, rejects } from "node:assert/strict";
import { joinedRead } from "../../../../activities/kube/joined_reads.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

/** Reads of something that changes, answered when they are let go. */
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

Deno.test("joinedRead gives nobody an answer that is older than the question, and asks once for many", async () => {
  const { client } = new FakeKube();
  const source = new Source();
  const first = joinedRead(client, "it", source.read);
  source.value = 1;
  const others = [1, 2, 3].map(() => joinedRead(client, "it", source.read));
  await source.letGo();
  equal(await first, 0);
  source.value = 2;
  const late = joinedRead(client, "it", source.read);
  await source.letGo();
  deepEqual(await Promise.all(others), [1, 1, 1]);
  await source.letGo();
  equal(await late, 2);
  equal(source.asked, 3);
});

Deno.test("joinedRead asks at once whoever asks alone, again and again", async () => {
  const { client } = new FakeKube();
  for (let nth = 1; nth <= 3; nth++) {
    equal(await joinedRead(client, "it", () => Promise.resolve(nth)), nth);
    await turn();
  }
});

Deno.test("joinedRead asks again for those who wait where one read failed", async () => {
  const { client } = new FakeKube();
  const { promise, reject } = Promise.withResolvers<number>();
  const first = joinedRead(client, "it", () => promise);
  const other = joinedRead(client, "it", () => Promise.resolve(7));
  reject(new Error("away"));
  await rejects(first, { message: "away" });
  equal(await other, 7);
});

Deno.test("joinedRead keeps what is asked of different servers apart, and different questions", async () => {
  const [one, other] = [new FakeKube().client, new FakeKube().client];
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = joinedRead(one, "it", () => promise);
  equal(await joinedRead(other, "it", () => Promise.resolve("theirs")), "theirs");
  equal(await joinedRead(one, "that", () => Promise.resolve("that")), "that");
  resolve("ours");
  equal(await first, "ours");
});

Deno.test("joinedRead does not wait long for a request that hangs", async () => {
  const { client } = new FakeKube();
  const { promise, resolve } = Promise.withResolvers<string>();
  const hanging = joinedRead(client, "it", () => promise);
  const { setTimeout } = globalThis;
  const timers: (() => void)[] = [];
  globalThis.setTimeout = ((timer: () => void) => void timers.push(timer)) as unknown as typeof setTimeout;
  const other = joinedRead(client, "it", () => Promise.resolve("answered"));
  globalThis.setTimeout = setTimeout;
  for (const timer of timers) timer();
  equal(await other, "answered");
  resolve("late");
  equal(await hanging, "late");
});
