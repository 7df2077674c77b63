import { equal, match, ok } from "node:assert/strict";
import type { Progress } from "../../../../../workflows/contracts/mod.ts";
import { details } from "../../../../../workflows/status/page.ts";

const pool = { namespace: "fleet", name: "pool" };
const since = Date.parse("2026-01-01T00:00:00Z");

function progress(overrides: Partial<Progress> = {}): Progress {
  return {
    ...{ phase: "Rolling", reason: "Draining", message: "Draining a", since: "2026-01-01T00:00:00.000Z" },
    ...{ until: "2026-01-01T01:00:00.000Z", paused: false, policy: "fleet/canary", joins: [], replacements: [] },
    target: { generation: 7, revision: "3", image: "image-2", kubelet: "1.36.1", configDigest: "0123456789abcdef" },
    counts: { desired: 12, machines: 13, updated: 4, ready: 11, old: 8, leaving: 1, unhealthy: 0 },
    waves: [{ upTo: 2, state: "Done" }, { upTo: 12, state: "Rolling" }],
    ...{ wave: 2, quarantine: [], failedMachines: 1, skipped: [], setAside: [], underway: [] },
    ...overrides,
  };
}

/** Asserts that the page contains all `parts`, in this order. */
function tells(overrides: Partial<Progress>, ...parts: string[]): void {
  const page = details(pool, progress(overrides));
  parts.reduce((from, part) => {
    const at = page.indexOf(part, from);
    ok(at >= 0, `"${part}" is missing, or not in its place, in: ${page}`);
    return at + part.length;
  }, 0);
}

Deno.test("details: shows status, times, progress, estimated end and target", () => {
  tells(
    { eta: "2026-01-01T02:03:04.000Z", plan: { hash: "p1", approved: true } },
    ...["## Rolling: Draining a", "fleet/pool, since `2026-01-01 00:00:00 UTC`, until `2026-01-01 01:00:00 UTC`"],
    ...["`███████░░░░░░░░░░░░░` **4 of 12 updated**, 11 ready, 8 old, 1 leaving, 1 failed"],
    ...["expected to end about `2026-01-01 02:03:04 UTC`", "image `image-2`, kubelet `1.36.1`"],
    ...["revision 3 (generation 7), config `0123456789ab`; policy `fleet/canary`; plan `p1`, approved"],
  );
});

Deno.test("details: shows each wave as a bar with its state", () => {
  tells(
    { waves: [{ upTo: 2, state: "Done" }, { upTo: 12, state: "Rolling" }, { upTo: 20, state: "Waiting" }] },
    ...["**Wave 2 of 3**", "| 1 | `████████████████████` | 2 of 2 | done |"],
    ...["| 2 | `████░░░░░░░░░░░░░░░░` | 2 of 10 | rolling |", "| 3 | `░░░░░░░░░░░░░░░░░░░░` | 0 of 8 | waiting |"],
  );
  tells(
    { waves: [{ upTo: 4, state: "Soaking", soakUntil: "2026-01-01T00:10:00.000Z" }, { upTo: 12, state: "Waiting" }] },
    "| 4 of 4 | soaking until `2026-01-01 00:10:00 UTC` |",
  );
  tells({ phase: "Halted" }, "| 2 of 10 | halted |");
  tells({ paused: true }, "| 2 of 10 | paused |");
  tells({ reason: "AwaitingApproval" }, "| 2 of 10 | waiting for approval |");
});

Deno.test("fault U7 details: shows what a machine waits for", () => {
  const [since, until] = ["2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z"];
  const underway = [{ machine: "a", step: "Joining" as const, since, until, waitsFor: "its taint" }];
  tells({ underway }, "| `a` | Joining: its taint |");
});

Deno.test("details: counts joined machines as updated, and not those that wait for admission", () => {
  const counts = {
    desired: 12,
    machines: 13,
    updated: 4,
    updatedReady: 3,
    ready: 11,
    old: 8,
    leaving: 1,
    unhealthy: 0,
  };
  tells({ counts }, "**3 of 12 updated**", "| 2 | `██░░░░░░░░░░░░░░░░░░` | 1 of 10 | rolling |");
});

Deno.test("details: shows no estimated end when a person or a pod must act first, and no waves after the end", () => {
  const eta = "2026-01-01T02:03:04.000Z";
  tells({ eta }, "expected to end");
  for (
    const overrides of [{ phase: "Halted" as const }, { reason: "PodsRemaining" }, { phase: "RolledBack" as const }]
  ) {
    ok(!details(pool, progress({ eta, ...overrides })).includes("expected to end"), JSON.stringify(overrides));
  }
  ok(!details(pool, progress({ phase: "RolledBack" })).includes("Wave"));
});

Deno.test("details: shows what a person must do, also after the end of the run", () => {
  tells({ reason: "PodsRemaining" }, "**What to do** Let the pods listed above move");
  const back = { phase: "RolledBack" as const, reason: "RolledBack", message: `All machines run ${"x".repeat(100)}` };
  tells(back, "## RolledBack\n\nAll machines run xxx", "**What to do** The failed spec is quarantined");
});

Deno.test("details: shows the waves around the current one when there are many", () => {
  const waves = Array.from({ length: 20 }, (_, index) => ({
    upTo: index + 1,
    state: index < 4 ? "Done" as const : "Waiting" as const,
  }));
  const page = details(pool, progress({ waves, wave: 5 }));
  const shown = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => number);
  equal(shown.join(), "3,4,5,6,7,8");
});

Deno.test("details: shows the machines in progress and what blocks them", () => {
  const blockers = [{
    pod: "default/web-1",
    owner: "Deployment default/web",
    why: "PodDisruptionBudget default/web allows 0 disruptions",
  }];
  const times = { since: "2026-01-01T00:05:00.000Z", until: "2026-01-01T00:35:00.000Z" };
  tells(
    {
      underway: [
        { machine: "a", node: "node-a", step: "Draining", ...times, blockers },
        { machine: "b", step: "Joining", ...times, attempt: 1 },
      ],
    },
    ...["| `a` | Draining | `2026-01-01 00:05` | `2026-01-01 00:35` |", "| `b` | Joining (attempt 2) |"],
    "- `node-a` is blocked by pod `default/web-1` of `Deployment default/web`: PodDisruptionBudget default/web allows",
  );
});

Deno.test("details: shows the decisions of people and failures", () => {
  const bad = { specHash: "s", templateHash: "t", revision: "2", image: "image-x", kubelet: "k", since };
  tells(
    {
      ...{ paused: true, pausedBy: { by: "bob", reason: "freeze", since }, skipped: ["s1"], setAside: ["s2"] },
      rollBack: { kind: "RollBack", by: "Ostler", reason: "2 machines failed", revision: "2" },
      quarantine: [{ ...bad, by: "Ostler", reason: "gate web failed" }],
    },
    ...["**Paused** by bob since `2026-01-01 00:00:00 UTC`: freeze"],
    ...["**Rolling back** revision 2, requested by Ostler: 2 machines failed"],
    ...["**Quarantined** revision 2 (`image-x`) since `2026-01-01 00:00:00 UTC`: gate web failed"],
    ...["**Skipped** `s1`", "**Set aside**, not drained in time: `s2`"],
  );
});

const waysToAct: [string, Partial<Progress>, string[]][] = [
  ["in progress", {}, ["pause", "abort"]],
  ["paused", { paused: true }, ["resume", "abort"]],
  ["halted", { phase: "Halted", reason: "Quarantined" }, ["retry", "abort"]],
  ["halted by an inconclusive gate", { phase: "Halted", reason: "GateInconclusive" }, ["promote", "retry", "abort"]],
  ["soaking", { waves: [{ upTo: 12, state: "Soaking" }] }, ["promote", "pause", "abort"]],
  [
    "rolling back",
    { phase: "RollingBack", rollBack: { kind: "Abort", by: "b", reason: "", revision: "2" } },
    ["pause"],
  ],
  ["converged", { phase: "Converged" }, []],
  ["rolled back", { phase: "RolledBack" }, []],
];

for (const [name, overrides, verbs] of waysToAct) {
  Deno.test(`details: shows only the commands that apply when the rollout is ${name}`, () => {
    const page = details(pool, progress(overrides));
    const found = [...page.matchAll(/`ostler (\w+) pool -n fleet`/g)].map(([, verb]) => verb);
    equal(found.join(), verbs.join());
    equal(page.includes('{"by":"you","reason":"why"}'), verbs.length > 0);
  });
}

Deno.test("details: shows the exact command that approves the waiting plan", () => {
  const waiting = { reason: "AwaitingApproval", plan: { hash: "0a1b2c", approved: false } };
  tells(waiting, '`ostler approve pool -n fleet --plan 0a1b2c`; the update also takes `{"plan":"0a1b2c"}`');
});

Deno.test("details: shows a long sentence once, below its reason", () => {
  const message = `Revision 3 is quarantined: ${"gate web failed: measured 1, wanted < 1; ".repeat(3)}`;
  const quarantine = [{
    ...{ by: "Ostler", specHash: "s", templateHash: "t", revision: "3", image: "i", kubelet: "k", since },
    reason: "gate web failed",
  }];
  const page = details(pool, progress({ phase: "Halted", reason: "Quarantined", message, quarantine }));
  match(page, /^## Halted: Quarantined\n\nRevision 3 is quarantined: gate web failed: measured 1, wanted \\< 1/);
  ok(!page.includes("**Quarantined**"));
});

Deno.test("details: escapes text that the web UI would read as markup", () => {
  const message = "at 12:31 <b>*x*</b> [y](z) `q`";
  match(
    details(pool, progress({ message })),
    /^## Rolling: at 12\\:31 \\<b\\>\\\*x\\\*\\<\/b\\> \\\[y\\\]\(z\) \\`q\\`\n/,
  );
  tells({ message: "soaks until 2026-01-01T02:03:04.567Z" }, "soaks until 2026-01-01 02\\:03\\:04 UTC");
  tells({ skipped: ["a`b|c"] }, "**Skipped** `a'b\\|c`");
});

Deno.test("details: leaves out facts that are not known yet", () => {
  const { target: _, counts: __, until: ___, ...early } = progress({ phase: "Preparing", waves: [] });
  equal(/undefined|NaN|Target|updated|Wave|until/.test(details(pool, early)), false);
});

Deno.test("details: fits into 4 KB and into a URL, whatever its content", () => {
  const long = "ä|:x ".repeat(2000);
  const times = { since: "2026-01-01T00:05:00.000Z", until: "2026-01-01T00:35:00.000Z" };
  const blockers = Array(50).fill({ pod: long, owner: long, why: long });
  const request = { by: long, reason: long, since };
  const page = details(
    { namespace: "n".repeat(63), name: "p".repeat(253) },
    progress({
      ...{ message: long, reason: "Quarantined", phase: "Halted", pausedBy: request, paused: true },
      ...{ skipped: Array(900).fill(long), setAside: Array(900).fill(long) },
      underway: Array(100).fill({ machine: long, node: long, step: "Draining", ...times, blockers }),
      waves: Array(100).fill({ upTo: 1, state: "Rolling" }),
      quarantine: Array(5).fill({
        ...request,
        specHash: "s",
        templateHash: "t",
        revision: long,
        image: long,
        kubelet: "k",
      }),
      rollBack: { kind: "Abort", by: long, reason: long, revision: long },
    }),
  );
  match(page, /^## Halted: Quarantined/);
  ok(new TextEncoder().encode(page).length <= 4096, `${page.length} characters`);
  ok(encodeURIComponent(page).length <= 7500, `${encodeURIComponent(page).length} characters in a URL`);
});

Deno.test("details: shows neither kubelet nor config when the target has neither", () => {
  const target = { generation: 7, revision: "3", image: "image-2", kubelet: "", configDigest: "" };
  tells({ target }, "**Target** image `image-2`, revision 3 (generation 7); policy `fleet/canary`");
});

Deno.test("details: shows the members of etcd, the leader, and the problems that keep control planes from being replaced", () => {
  const seats = [
    { name: "cp-1", machine: "control-1", role: "Leader" as const, isWell: true, version: "3.6.8" },
    { name: "cp-2", role: "Learner" as const, isWell: false, version: "" },
  ];
  const doubts = [{ says: 'member "cp-2" is a learner, without a vote yet' }];
  tells(
    { etcd: { seats, quorum: { needed: 1, well: 1 }, doubts } },
    ...["**etcd** 1 of 1 voting, quorum 1, none may fail", "| `cp-1` | leader | healthy | 3.6.8 |"],
    ...["| `cp-2` | learner | **unhealthy** |  |", '- member "cp-2" is a learner, without a vote yet'],
  );
});
