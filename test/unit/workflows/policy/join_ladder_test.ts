import { deepEqual } from "node:assert/strict";
import { joinDeadlines } from "../../../../workflows/policy/waves.ts";

Deno.test("joinDeadlines: counts the deadline of every join stage from the same start", () => {
  const durations = { instance: 10, address: 12, registered: 25, ready: 30 };
  deepEqual(joinDeadlines(1000, durations), { instance: 1010, address: 1012, registered: 1025, ready: 1030 });
});

Deno.test("joinDeadlines: gives no join stage an earlier deadline than the stage before it", () => {
  const durations = { instance: 50, address: 12, registered: 60, ready: 30 };
  deepEqual(joinDeadlines(0, durations), { instance: 50, address: 50, registered: 60, ready: 60 });
});
