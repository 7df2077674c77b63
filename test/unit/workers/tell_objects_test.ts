import { equal } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { tellObjects } from "../../../workers/tell_objects.ts";

Deno.test("tellObjects: repeats a signal in time although the wall clock is set back", async () => {
  const { now } = Date;
  const stop = new AbortController();
  let count = 0;
  const tell = (): Promise<void> => {
    count += 1;
    if (count === 1) Date.now = () => now() - 3_600_000;
    if (count === 3) stop.abort();
    return Promise.resolve();
  };
  const order = {
    what: "node version",
    seen: (): [string, string][] => [["a", "same"]],
    log: { warn: () => {} },
    tell,
  };
  try {
    const telling = tellObjects({ ...order, every: { lookEvery: 1, retellAfter: 5 } }, stop.signal);
    await Promise.race([telling, setTimeout(3_000)]);
    equal(count, 3);
  } finally {
    Date.now = now;
    stop.abort();
  }
});
