import assert from "node:assert/strict";
import { Availability } from "../../../support/steady/availability.ts";

const works = (): Promise<void> => Promise.resolve();
const fails = (why: string) => (): Promise<void> => Promise.reject(new Error(why));

Deno.test("Availability counts an outage from the first attempt that failed, with its reason, to the next that did not", async () => {
  const availability = new Availability();
  await availability.attempt(works);
  assert.deepEqual(availability.report().outages, []);
  await availability.attempt(fails("first"));
  await availability.attempt(fails("second"));
  assert.equal(availability.report().outages.length, 1, "it lasts still");
  await availability.attempt(works);
  const { successes, failures, totalMs, longestMs, outages: [outage] } = availability.report();
  assert.deepEqual([successes, failures, outage?.why], [2, 2, "first"]);
  assert.deepEqual([totalMs, longestMs], [outage?.ms, outage?.ms]);
});

Deno.test("Availability keeps few of many outages, and the time of all", async () => {
  const availability = new Availability();
  for (let nth = 0; nth < 50; nth++) {
    await availability.attempt(fails(`${nth}`));
    await availability.attempt(works);
  }
  const { failures, outages } = availability.report();
  assert.deepEqual([failures, outages.length], [50, 20]);
});
