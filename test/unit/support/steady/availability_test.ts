import assert from "node:assert/strict";
import { Availability } from "../../../support/steady/availability.ts";

const works = (): Promise<void> => Promise.resolve();
const fails = (why: string) => (): Promise<void> => Promise.reject(new Error(why));

Deno.test("Availability: counts an outage from the first failed attempt, with its reason, to the next successful one", async () => {
  const availability = new Availability();
  await availability.attempt(works);
  assert.deepEqual(availability.report().outages, []);
  await availability.attempt(fails("first"));
  await availability.attempt(fails("second"));
  assert.equal(availability.report().outages.length, 1, "Expected the outage to continue");
  await availability.attempt(works);
  const { successes, failures, totalMs, longestMs, outages: [outage] } = availability.report();
  assert.deepEqual([successes, failures, outage?.why], [2, 2, "first"]);
  assert.deepEqual([totalMs, longestMs], [outage?.ms, outage?.ms]);
});

Deno.test("Availability: keeps 20 of 50 outages, and counts all failures", async () => {
  const availability = new Availability();
  for (let nth = 0; nth < 50; nth++) {
    await availability.attempt(fails(`${nth}`));
    await availability.attempt(works);
  }
  const { failures, outages } = availability.report();
  assert.deepEqual([failures, outages.length], [50, 20]);
});
