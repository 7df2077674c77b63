import assert from "node:assert/strict";
import { FakeWorld, readyStatus } from "../../../support/fake_world.ts";

const history = [
  {
    ...{
      revision: "1",
      image: "img:1",
      configDigest: "0123456789abcdef",
      outcome: "Converged",
      machines: 3,
      failed: 0,
    },
    ...{ startedAt: "2026-11-20T10:00:00.000Z", endedAt: "2026-11-20T10:20:00.000Z", actor: "kubectl", seconds: 1_200 },
  },
  {
    ...{
      revision: "2",
      image: "img:2",
      configDigest: "fedcba9876543210",
      outcome: "RolledBack",
      machines: 2,
      failed: 1,
    },
    ...{
      startedAt: "2026-11-21T10:00:00Z",
      endedAt: "2026-11-21T10:05:00Z",
      actor: "flux",
      reason: "new-1 did not join",
    },
  },
];

Deno.test("ostler history: shows the newest rollout first, with image, digest, actor, outcome and duration", async () => {
  const world = new FakeWorld();
  world.putPool(readyStatus({ history }));
  const { code, out } = await world.run(["history", "pool"]);
  assert.equal(code, 0);
  assert.deepEqual(out.trimEnd().split("\n").map((line) => line.split(/ {2,}/)), [
    ["ENDED", "REVISION", "IMAGE", "DIGEST", "MACHINES", "FAILED", "TOOK", "ACTOR", "OUTCOME", "REASON"],
    ["2026-11-21 10:05:00Z", "2", "img:2", "fedcba987654", "2", "1", "5m", "flux", "RolledBack", "new-1 did not join"],
    ["2026-11-20 10:20:00Z", "1", "img:1", "0123456789ab", "3", "0", "20m", "kubectl", "Converged"],
  ]);
});

Deno.test("ostler history --all: lists the rollouts of several pools together, sorted by time", async () => {
  const world = new FakeWorld();
  world.putPool(readyStatus({ history: [history[0]] }));
  world.putPool(readyStatus({ history: [history[1]] }), { name: "other" });
  const { out } = await world.run(["history", "--all"]);
  assert.deepEqual(out.trimEnd().split("\n").map((line) => line.split(" ")[0]), ["POOL", "fleet/other", "fleet/pool"]);
  const { items } = JSON.parse((await world.run(["history", "--all", "-o", "json"])).out);
  assert.deepEqual(items.map(({ name, history }: { name: string; history: unknown[] }) => [name, history.length]), [
    ["other", 1],
    ["pool", 1],
  ]);
});

Deno.test("ostler history: prints a message when no rollout has ended", async () => {
  const world = new FakeWorld();
  world.putPool(readyStatus());
  const { code, out, err } = await world.run(["history", "pool"]);
  assert.deepEqual([code, out, err], [0, "", 'No rollout of "fleet/pool" has ended yet\n']);
});

Deno.test("ostler history: shortens a long reason, except with -o wide", async () => {
  const world = new FakeWorld();
  const reason = `machine did not join: ${"evidence ".repeat(20)}`.trim();
  world.putPool(readyStatus({ history: [{ ...history[1], reason }] }));
  const narrow = await world.run(["history", "pool"]);
  assert.ok(narrow.out.includes(`${reason.slice(0, 60)}…`));
  assert.ok((await world.run(["history", "pool", "-o", "wide"])).out.includes(reason));
});
