import { deepEqual } from "node:assert/strict";
import { carriedState, readCarried } from "../../../../workflows/state/input.ts";
import { endWaiting, keepWaiting } from "../../../../workflows/state/people.ts";
import { openRun } from "../../../support/open_run.ts";

const waits = (nth: number): { name: string; fields: Record<string, unknown> } => ({
  name: "pause",
  fields: { by: `ada ${nth}` },
});

Deno.test("keepWaiting: keeps the last fifty commands for the next run of the chain until they are validated", () => {
  const { people, ...rest } = openRun();
  const all = Array.from({ length: 52 }, (_, nth) => waits(nth));
  for (const each of all) keepWaiting(people, each);
  for (const each of all.slice(0, 50)) endWaiting(people, each);
  const carried = JSON.parse(JSON.stringify(carriedState({ people, ...rest }))) as object;
  deepEqual(readCarried(carried, 0).people.waiting, [waits(50), waits(51)]);
  for (const each of all) keepWaiting(people, each);
  deepEqual([people.waiting.length, people.waiting[0]], [50, waits(2)]);
});
