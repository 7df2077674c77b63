import assert from "node:assert/strict";
import { between, livingOf, lostOf, newcomers } from "../../../../../deploy/local/demo/stories/machine_groups.ts";
import type { MachineLife } from "../../../../../deploy/local/observer/machine_lives.ts";

const seenAt = "2026-01-01T00:00:00Z";
const lives: MachineLife[] = [
  { name: "pool-aaa-11111", seenAt, orderedAt: seenAt, readyAt: seenAt, goneAt: seenAt },
  { name: "pool-aaa-22222", seenAt, orderedAt: seenAt, readyAt: seenAt },
  { name: "pool-aaa-33333", seenAt, orderedAt: seenAt, readyAt: seenAt },
  { name: "pool-bbb-44444", seenAt, orderedAt: seenAt },
  { name: "pool-bbb-55555", seenAt },
];
const before = ["pool-aaa-11111", "pool-aaa-22222"];

Deno.test("machine groups: returns as new the machines with a new template and an instance, and excludes pending machines and machines of a scale-up", () => {
  assert.deepEqual(newcomers(lives, before).map(({ name }) => name), ["pool-bbb-44444"]);
});

Deno.test("livingOf: excludes deleted machines, and machines that never were Ready", () => {
  assert.deepEqual(livingOf(lives), ["pool-aaa-22222", "pool-aaa-33333"]);
});

Deno.test("lostOf: returns the named machines that are deleted", () => {
  assert.deepEqual(lostOf(lives, before), ["pool-aaa-11111"]);
  assert.deepEqual(lostOf(lives, ["pool-aaa-22222"]), []);
});

Deno.test("between: returns NaN, which satisfies no comparison, when a time is missing", () => {
  assert.equal(between("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"), 1000);
  assert.equal(between(undefined, seenAt) >= 0 || between(seenAt, undefined) < 0, false);
});
