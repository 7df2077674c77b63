import { equal, match, ok } from "node:assert/strict";
import type { Progress } from "../../../../workflows/contracts.ts";
import { details } from "../../../../workflows/policy/details.ts";

const pool = { namespace: "fleet", name: "pool" };

function progress(overrides: Partial<Progress> = {}): Progress {
  return {
    ...{ phase: "Rolling", reason: "Draining", message: "Draining a", since: "2026-01-01T00:00:00.000Z" },
    ...{ until: "2026-01-01T01:00:00.000Z", paused: false, joins: [], replacements: [] },
    target: { generation: 7, revision: "3", image: "image-2", kubelet: "1.36.1", configDigest: "0123456789abcdef" },
    counts: { desired: 3, machines: 4, updated: 1, ready: 4, old: 2, leaving: 1 },
    replacement: { machine: "b", victim: "a", step: "Draining", since: "s", until: "2026-01-01T01:00:00.000Z" },
    ...overrides,
  };
}

Deno.test("details answers what, where to, how far, since when and until when", () => {
  const page = details(pool, progress());
  match(page, /^## Rolling: Draining a\n/);
  for (
    const part of [
      ...["fleet/pool", "image `image-2`", "kubelet `1.36.1`", "revision 3 (generation 7)", "config `0123456789ab`"],
      ...["1 of 3 updated, 4 ready, 2 old, 1 leaving", "in `b`, out `a`", "**Since** `2026-01-01T00:00:00.000Z`"],
      ...["**until** `2026-01-01T01:00:00.000Z`", "`pause`"],
    ]
  ) ok(page.includes(part), `${part} is missing in: ${page}`);
});

Deno.test("details tells what a person can do where the rollout stands still", () => {
  match(details(pool, progress({ phase: "Halted" })), /`retry`/);
  match(details(pool, progress({ paused: true })), /`resume`/);
  equal(/You can|Paused/.test(details(pool, progress({ phase: "Converged" }))), false);
});

Deno.test("details leaves out what is not known yet", () => {
  const { phase, reason, message, since, paused, joins, replacements } = progress({ phase: "Preparing" });
  const page = details(pool, { phase, reason, message, since, paused, joins, replacements });
  equal(/undefined|Target|Machines|Now|until/.test(page), false);
});

Deno.test("details stays under 2 KB whatever the message and the records", () => {
  const join = { machine: "m".repeat(60), node: "n", image: "i", kubelet: "k", joinedSeconds: 1 };
  const page = details(pool, progress({ message: "x".repeat(10_000), joins: Array(100).fill(join) }));
  ok(page.length <= 2000, `${page.length} characters`);
});
