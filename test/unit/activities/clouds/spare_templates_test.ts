import { deepEqual } from "node:assert/strict";
import { spareTemplates } from "../../../../activities/clouds/spare_templates.ts";

const dayMs = 86_400_000;
const now = 100 * dayMs;
const made = Array.from({ length: 14 }, (_, nth) => ({ id: `t${nth}`, since: nth * dayMs }));
const none = new Set<string>();

Deno.test("fault G11: spareTemplates chooses the oldest templates, but none that is used, recent or among the ten newest", () => {
  deepEqual(spareTemplates(made.toReversed(), { used: none, now }), ["t0", "t1", "t2", "t3"]);
  deepEqual(spareTemplates(made, { used: new Set(["t1"]), now }), ["t0", "t2", "t3"]);
  deepEqual(spareTemplates(made.slice(0, 10), { used: none, now }), []);
  deepEqual(spareTemplates(made, { used: none, now: 2.5 * dayMs }), ["t0", "t1"]);
  deepEqual(spareTemplates(made.map(({ id }) => ({ id, since: Infinity })), { used: none, now }), []);
  const many = Array.from({ length: 5_000 }, (_, nth) => ({ id: `t${nth}`, since: nth }));
  deepEqual(spareTemplates(many, { used: none, now }).length, 50);
});
